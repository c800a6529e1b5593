"""The comparison: one protocol, independent cells, an honest table."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import table
from bsvdd.comparison.report.comparison_page import warnings_of
from bsvdd.comparison.run import runner
from bsvdd.comparison.run.cell import FLAG_ALL, FLAG_NONE, Cell, replicate_seed
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.datasets import Dataset
from bsvdd.comparison.scenarios.scenario import Real, halves
from bsvdd.estimators.detector import Detector
from bsvdd.estimators.registry import REGISTRY, YARDSTICKS
from sklearn.metrics import f1_score, roc_auc_score

from bsvdd import Cutoff, kernels, priors

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
    expected = {*runner.DEFAULT_MODELS, FLAG_ALL, FLAG_NONE}
    for _, rows in results.groupby("replicate"):
        assert set(rows["model"]) == expected
        assert len(rows) == len(expected)


def test_trivial_rules_have_the_values_of_the_base_rate(results, moon):
    rows = results.set_index("model")
    share = 6 / 36
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


def test_the_cutoff_of_the_protocol_reaches_every_model(moon):
    protocol = Protocol(cutoff=Cutoff("f1", level=0.3), draws=50, tune=50)
    for name, record in REGISTRY.items():
        est = protocol.estimator(name, 7)
        assert est.cutoff == Cutoff("f1", level=0.3)
        assert est.random_state == 7
        assert type(est) is record.estimator()


def test_every_replicate_of_every_seed_has_a_seed_of_its_own():
    assert replicate_seed(0, 1) != replicate_seed(1, 0)
    pairs = [(replicate, seed) for replicate in range(40) for seed in range(40)]
    seeds = [replicate_seed(*pair) for pair in pairs]
    assert len(set(seeds)) == len(pairs)
    assert seeds == [replicate_seed(*pair) for pair in pairs]
    assert all(0 <= seed < 2**31 for seed in seeds)  # what scikit-learn takes


def test_names_given_twice_fail_before_a_fit(moon, monkeypatch):
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    with pytest.raises(ValueError, match="model 'BDD' is given twice"):
        runner.compare([moon], ["BDD", "SVDD", "BDD"])
    other = Dataset("moon", moon.X + 1, moon.minority)
    with pytest.raises(ValueError, match="data set 'moon' is given twice"):
        runner.compare([moon, other], ["SVDD"])


def test_each_finished_cell_is_told_with_its_row(moon):
    told = []
    frame = runner.compare([moon], ["SVDD"], 2, SMALL, seed=3, on_cell=told.append)
    assert [(p.done, p.failed, p.total) for p in told] == [(1, 0, 2), (2, 0, 2)]
    assert [p.cell.replicate for p in told] == [0, 1]
    fitted = frame[frame["model"] == "SVDD"]
    assert [p.row["f1"] for p in told] == fitted["f1"].tolist()
    assert [p.row["cutoff"] for p in told] == fitted["cutoff"].tolist()


def cell(data, model, replicate=0, protocol=SMALL):
    return Cell(Real(data), Candidate(model, model), protocol, replicate, seed=0)


def test_warnings_of_a_fit_are_kept_in_its_row(moon):
    data = Dataset("constant", np.column_stack([moon.X, np.ones(len(moon.X))]), moon.minority)
    scaled = replace(SMALL, kernel=kernels.Standardized(kernels.RBF(1.0)))
    notes = cell(data, "SVDD", protocol=scaled).run()["notes"]
    assert "constant over the majority rows (2)" in notes


def test_warnings_of_other_packages_are_notes_and_never_shown(moon, monkeypatch):
    """The text may have another number each time: scikit-learn warned 235 times in a comparison."""
    fit = Protocol.fit

    def noisy(*arguments):
        for number in range(3):
            warnings.warn(f"the determinant is {number}e-{number}", RuntimeWarning, stacklevel=1)
        return fit(*arguments)

    monkeypatch.setattr(Protocol, "fit", noisy)
    results = runner.compare([moon], ["kNN"], replicates=2, protocol=SMALL)  # else an error here
    assert (results["error"] == "").all()
    told = warnings_of(results[results["model"] == "kNN"])
    assert told == ["kNN (6 x): RuntimeWarning: the determinant is 0e-0"]


def test_a_fit_that_cannot_be_is_recorded_and_the_rest_goes_on(moon):
    """Four minority rows in a fold are too few for the density weights of DSVM-CIL."""
    told = []
    results = runner.compare([moon], ["DSVM-CIL", "SVM"], 1, SMALL, on_cell=told.append)
    assert [p.failed for p in told] == [1, 1]
    results = results.set_index("model")
    error = results.loc["DSVM-CIL", "error"]
    assert error.startswith("ValueError: cutoff: a fold with 28 of 36 rows cannot be fitted")
    assert "density weights with neighbors=5 need at least 6 rows" in error
    assert np.isnan(results.loc["DSVM-CIL", ["accuracy", "auc"]].astype(float)).all()
    assert results.loc["SVM", "auc"] > 0.5
    assert results.loc["SVM", "error"] == ""


def test_priors_of_a_grid_share_one_fit_for_each_kernel(moon, monkeypatch):
    """And the chosen fit is the one that a fit of its own gives."""
    kernels_fitted, own_fit = [], Detector.fit
    monkeypatch.setattr(
        Detector, "fit", lambda est, X, y: kernels_fitted.append(est.kernel) or own_fit(est, X, y)
    )
    wide = kernels.Standardized(kernels.RBF("mean"))
    grid = {"prior": (priors.RowSum(), priors.Flat(), priors.Flat(sd=0.5))}
    protocol = replace(SMALL, alternatives=(wide,), tuned=True)
    tuned = Candidate("BDD", "BDD", {}, grid)
    est, chosen = protocol.fit(tuned, moon.X, moon.minority, 3)
    assert kernels_fitted == [protocol.kernel_of(tuned), wide]
    again = protocol.estimator("BDD", 3, prior=est.prior, kernel=est.kernel)
    again.fit(moon.X, moon.minority.astype(int))
    assert (again.cutoff_, str(again.kernel_)) == (est.cutoff_, chosen["kernel"])
    np.testing.assert_array_equal(again.fit_.left_out, est.fit_.left_out)


def test_any_error_of_a_cell_is_its_own(moon, monkeypatch):
    def broken(*_):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(Protocol, "fit", broken)
    assert cell(moon, "SVDD").run() == {
        "data": "moon",
        "model": "SVDD",
        "replicate": 0,
        "error": "LinAlgError: singular",
    }


def test_unknown_model_and_too_few_rows_fail_before_a_fit(moon):
    with pytest.raises(ValueError, match="unknown model 'XGBoost'.*BSVDD-M"):
        runner.compare([moon], ["XGBoost"])
    few = Dataset("few", moon.X, np.arange(len(moon.X)) == 0)
    with pytest.raises(ValueError, match="few: a comparison needs at least 2 minority rows"):
        runner.compare([few])


def test_summary_is_mean_and_sd_over_replicates():
    rows = [
        {"data": "a", "model": "M", "replicate": i, **dict.fromkeys(table.METRICS, value)}
        for i, value in enumerate([0.25, 0.75])
    ]
    rows[0]["ppv"] = rows[1]["ppv"] = np.nan
    shown = table.summary(pd.DataFrame(rows))
    assert shown.loc[("a", "M"), "F1"] == "0.500 (0.354)"  # sd with n - 1: .25 * sqrt 2
    assert shown.loc[("a", "M"), "PPV"] == "-"
    once = table.summary(pd.DataFrame(rows[:1]))
    assert once.loc[("a", "M"), "F1"] == "0.250"


@pytest.mark.parametrize("names", [["007", "12"], ["None", "NA"], ["a,b", 'say "x"\nand y']])
def test_results_are_read_as_they_were_given(tmp_path, moon, names):
    data = [Dataset(name, moon.X, moon.minority) for name in names]
    given = runner.compare(data, ["SVDD", "BDD"], 1, SMALL)
    given.to_csv(tmp_path / "x.csv", index=False)
    pd.testing.assert_frame_equal(runner.read(tmp_path / "x.csv"), given)


def test_two_sets_are_not_taken_for_each_other():
    """Each row of results is of its own data set, also where replicates meet back to back."""
    data = [datasets.embedded(name) for name in ("wine_cultivar3", "abalone_9v18")]
    together = runner.compare(data, ["SVDD"], replicates=1)
    apart = [runner.compare([each], ["SVDD"], replicates=1) for each in data]
    for each, alone in zip(data, apart, strict=True):
        mine = together[together["data"] == each.name].reset_index(drop=True)
        for column in ("model", "n", "base_rate", "auc"):
            pd.testing.assert_series_equal(mine[column], alone[column])
    assert together["base_rate"].nunique() == 2


def test_sets_are_equal_by_name_and_content():
    one = datasets.moon(seed=1)
    assert Real(one) == Real(datasets.moon(seed=1))
    assert hash(Real(one)) == hash(Real(datasets.moon(seed=1)))
    assert Real(one) != Real(datasets.moon(seed=2))
    assert Real(one) != Real(replace(one, name="other"))


def test_models_that_cannot_take_the_rows_are_told_without_a_fit(moon, monkeypatch):
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    monkeypatch.setattr("bsvdd.estimators.training.MAX_POINTS", 33)
    landmarks = Candidate("few points", "BSVDD", {"dictionary": 10})
    candidates = [Candidate(name, name) for name in ("SVDD", "SVDD-M", "LS-SVM")] + [landmarks]
    study = runner.comparison([moon], None, 2, SMALL, 0, candidates)
    refused = study.refusals()
    assert list(refused) == [("moon", "SVDD-M")]
    assert "the kernel matrix of 36 rows" in refused["moon", "SVDD-M"]  # 30 of them majority
    smaller = replace(study, left_out=frozenset(refused))
    kept = [c.candidate.name for c in smaller.cells()]
    assert kept == 2 * ["SVDD", "LS-SVM", "few points"]
    assert smaller.refusals() == {}
