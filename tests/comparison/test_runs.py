"""Runs of the comparison: one protocol, independent cells, metrics against other definitions."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report.own_data import warnings_of
from bsvdd.comparison.run import cell, runner
from bsvdd.comparison.run.cell import FLAG_ALL, FLAG_NONE, Cell, replicate_seed
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.yardsticks import YARDSTICKS
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.datasets import Dataset
from bsvdd.comparison.scenarios.scenario import Real, halves
from bsvdd.comparison.scenarios.slides import Slides
from bsvdd.estimators.description import Description
from bsvdd.estimators.registry import REGISTRY
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    roc_auc_score,
)

from bsvdd import SVDD, cutoffs, kernels, priors

SMALL = Protocol(draws=150, tune=150)
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def moon():
    return datasets.moon(n0=60, n1=12)


@pytest.fixture(scope="module")
def results(moon):
    seen = []
    frame = runner.compare(
        [moon], replicates=2, protocol=SMALL, on_cell=lambda p: seen.append(p.cell.candidate.name)
    )
    assert seen == [*REGISTRY, *YARDSTICKS] * 2
    assert frame["error"][~frame["error"].str.contains("density weights")].eq("").all()
    return frame


def test_every_model_and_both_trivial_rules_are_in_every_replicate(results):
    expected = [*runner.DEFAULT_MODELS, FLAG_ALL, FLAG_NONE]
    for _, rows in results.groupby("replicate"):
        assert rows["model"].tolist() == expected
    rows, share = results.set_index("model"), 6 / 36
    assert rows.loc[FLAG_ALL, "accuracy"].tolist() == pytest.approx([share] * 2)
    assert rows.loc[FLAG_ALL, "f1"].tolist() == pytest.approx([2 * share / (1 + share)] * 2)
    assert rows.loc[FLAG_NONE, "accuracy"].tolist() == pytest.approx([1 - share] * 2)
    assert rows.loc[FLAG_NONE, "ppv"].isna().all()


def test_a_row_is_what_the_estimator_says_on_the_test_half(results, moon):
    seed = replicate_seed(1, 0)
    train, test = halves(moon, seed)
    est = SMALL.estimator("BDD", seed).fit(moon.X[train], moon.minority[train].astype(int))
    row = results[(results.model == "BDD") & (results.replicate == 1)].iloc[0]
    flagged = est.predict(moon.X[test]) == -1
    assert row["f1"] == pytest.approx(f1_score(moon.minority[test], flagged))
    score = -est.score_samples(moon.X[test])
    assert row["auc"] == pytest.approx(roc_auc_score(moon.minority[test], score))


def test_the_cutoff_of_the_protocol_reaches_every_model():
    protocol = Protocol(cutoff=cutoffs.Best("f1"), draws=50, tune=50)
    for name, record in REGISTRY.items():
        est = protocol.estimator(name, 7)
        if "SVM" in name:  # whose boundary is f = 0
            continue
        assert est.cutoff == cutoffs.Best("f1") and getattr(est, "random_state", 7) == 7
        assert type(est) is record.estimator()


def test_a_choice_without_left_out_minority_rows_has_no_value(moon):
    est = SVDD().fit(moon.X)  # its minority rows, none here, cannot be left out
    protocol = Protocol(cutoff=cutoffs.Best("g_mean"))
    assert np.isnan(protocol._value(est, moon.X, np.zeros(len(moon.X), dtype=bool)))


def test_every_replicate_of_every_seed_has_a_seed_of_its_own():
    seeds = [replicate_seed(replicate, seed) for replicate in range(40) for seed in range(40)]
    assert len(set(seeds)) == 1600
    assert all(0 <= seed < 2**31 for seed in seeds)  # what scikit-learn takes


@pytest.mark.parametrize(
    ("change", "models", "message"),
    [
        ({}, ["BDD", "SVDD", "BDD"], "model 'BDD' is given twice"),
        ({}, ["XGBoost"], "unknown model 'XGBoost'.*BSVDD-M"),
        ({"X": np.ones((72, 2))}, ["SVDD"], "data set 'moon' is given twice"),
        (
            {"name": "few", "minority": np.arange(72) == 0},
            None,
            "few: a comparison needs at least 2 minority rows",
        ),
    ],
)
def test_what_cannot_be_compared_fails_before_a_fit(moon, change, models, message, monkeypatch):
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    data = [moon, replace(moon, **change)] if change else [moon]
    with pytest.raises(ValueError, match=message):
        runner.compare(data, models)


def test_warnings_of_fits_are_notes_and_never_shown(moon, monkeypatch):
    """A note has a warning of another package once, whatever its number: a CSV file has limits."""
    data = Dataset("constant", np.column_stack([moon.X, np.ones(len(moon.X))]), moon.minority)
    scaled = replace(SMALL, kernel=kernels.RBF(1.0))
    row = Cell(Real(data), Candidate("SVDD", "SVDD"), scaled, 0, seed=0).run()
    assert "constant over the majority rows (2)" in row["notes"]
    fit = Protocol.fit

    def noisy(*arguments):
        for number in range(3):
            warnings.warn(f"the determinant is {number}e-{number}", RuntimeWarning, stacklevel=1)
        return fit(*arguments)

    monkeypatch.setattr(Protocol, "fit", noisy)
    results = runner.compare([moon], ["kNN"], replicates=2, protocol=SMALL)  # else an error here
    assert (results["error"] == "").all()
    told = warnings_of(results[results["model"] == "kNN"])
    assert told == ["kNN (2 x): RuntimeWarning: the determinant is 0e-0"]


def test_a_fit_that_cannot_be_is_recorded_and_the_rest_goes_on(moon, monkeypatch):
    """No row has so many neighbours in its class as this density weight asks for."""
    told, many = [], Candidate("many neighbors", "DSVM-CIL", {"neighbors": 30})
    results = runner.compare([moon], [many, "SVM"], 1, SMALL, on_cell=told.append)
    assert [p.failed for p in told] == [1, 1]
    results = results.set_index("model")
    error = results.loc["many neighbors", "error"]
    assert error.startswith("ValueError: density weights with neighbors=30 need at least 31 rows")
    assert np.isnan(results.loc["many neighbors", ["accuracy", "auc"]].astype(float)).all()
    assert results.loc["SVM", "auc"] > 0.5 and results.loc["SVM", "error"] == ""

    def broken(*_):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(Protocol, "fit", broken)
    row = Cell(Real(moon), Candidate("SVDD", "SVDD"), SMALL, 0, seed=0).run()
    assert row.pop("error") == "LinAlgError: singular"
    assert row == {"data": "moon", "model": "SVDD", "replicate": 0}


def test_priors_of_a_grid_share_one_fit_for_each_kernel(moon, monkeypatch):
    """And the chosen fit is the one that a fit of its own gives."""
    kernels_fitted, own_fit = [], Description.fit
    monkeypatch.setattr(
        Description, "fit", lambda e, X, y: kernels_fitted.append(e.kernel) or own_fit(e, X, y)
    )
    wide = kernels.Tabular(kernels.RBF("mean"), scale="standardised")
    grid = {"prior": (priors.RowSum(), priors.Flat(), priors.Flat(sd=0.5))}
    protocol = replace(SMALL, alternatives=(wide,), tuned=True)
    tuned = Candidate("BDD", "BDD", {}, grid)
    est, chosen = protocol.fit(tuned, moon.X, moon.minority, 3)
    assert kernels_fitted == [protocol.kernel_of(tuned), wide]
    again = protocol.estimator("BDD", 3, prior=est.prior, kernel=est.kernel)
    again.fit(moon.X, moon.minority.astype(int))
    assert (again.cutoff_, str(again.kernel_)) == (est.cutoff_, chosen["kernel"])
    np.testing.assert_array_equal(again.margins(), est.margins())


@pytest.mark.parametrize("names", [["007", "12"], ["None", "NA"], ["a,b", 'say "x"\nand y']])
def test_results_are_read_as_they_were_given(tmp_path, moon, names):
    data = [Dataset(name, moon.X, moon.minority) for name in names]
    given = runner.compare(data, ["SVDD", "BDD"], 1, SMALL)
    (tmp_path / "x.csv").write_text(runner.to_csv(given))
    pd.testing.assert_frame_equal(runner.read(tmp_path / "x.csv"), given)


def test_two_sets_are_not_taken_for_each_other():
    """Each row of results is of its own data set, also where replicates meet back to back."""
    data = [datasets.embedded(name) for name in ("wine_cultivar3", "abalone_9v18")]
    together = runner.compare(data, ["SVDD"], replicates=1)
    for each in data:
        alone = runner.compare([each], ["SVDD"], replicates=1)
        mine = together[together["data"] == each.name].reset_index(drop=True)
        columns = ["model", "n", "base_rate", "auc"]
        pd.testing.assert_frame_equal(mine[columns], alone[columns])
    assert together["base_rate"].nunique() == 2


def test_models_that_cannot_take_the_rows_are_told_without_a_fit(moon, monkeypatch):
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    monkeypatch.setattr("bsvdd.estimators.machines.MOST_ROWS", 33)
    monkeypatch.setattr(runner, "MANY_ROWS", 33)
    names = ["SVDD", "SVDD-M", "OCSVM", "LS-SVM", "SVM", "kNN", "KDE"]
    study = runner.comparison([moon], names, 2, SMALL)
    refused = study.refusals()
    assert list(refused) == [("moon", "LS-SVM"), ("moon", "SVM")]
    assert "the kernel matrix of 36 rows" in refused["moon", "SVM"]  # 30 of them majority
    assert replace(study, left_out=frozenset(refused)).refusals() == {}
    smaller, reasons = study.without_refused(chosen=False)
    assert [c.candidate.name for c in smaller.cells()] == 2 * ["SVDD", "SVDD-M", "OCSVM", "kNN"]
    assert reasons[0].startswith("'LS-SVM', 'SVM' on moon") and reasons[1].startswith("'KDE' on")
    with pytest.raises(
        ValueError, match="nothing was fitted: 'LS-SVM', 'SVM' on moon: the kernel matrix"
    ):
        study.without_refused(chosen=True)


# metrics


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    P = rng.beta(0.5, 1.5, 5000)
    y = rng.random(5000) < P
    found = cell.measure(y, P > 0.5, P, P)
    assert found["brier"] == pytest.approx(np.mean((P - y) ** 2))
    assert found["average_precision"] == pytest.approx(average_precision_score(y, P))
    for p in (P, P**2, 1 - P):
        observed, said = calibration_curve(y, p, n_bins=10)
        n = np.histogram(p, bins=np.linspace(0, 1, 11))[0]
        expected = np.sum(n[n > 0] / len(p) * np.abs(observed - said))
        assert cell.calibration_error(y, p) == pytest.approx(expected)
    assert cell.calibration_error(y, P) < 0.02
    assert cell.calibration_error(y, y.astype(float)) == 0
    assert cell.calibration_error(y, 1.0 - y) == 1


def test_trivial_rules_and_the_rule_that_knows_the_truth():
    scenario = Slides(v=0, n_train=2, n_test=4000)
    flag_all, flag_none, bayes = cell.trivial_rules(scenario, 0, 1)
    share = flag_all["base_rate"]
    assert flag_all["fpr"] == flag_none["fnr"] == 1 and flag_none["ppv"] is None
    assert flag_all["brier"] == pytest.approx(1 - share)
    assert flag_none["brier"] == flag_none["calibration_error"] == pytest.approx(share)
    assert flag_all["average_precision"] == pytest.approx(share)
    assert bayes["auc"] > 0.97 and bayes["calibration_error"] < 0.02
    assert bayes["accuracy"] > flag_none["accuracy"] + 0.05
