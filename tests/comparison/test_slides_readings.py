"""Named readings of the slides: each is what its name says, its distance plain arithmetic."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import published, slides_readings
from bsvdd.comparison.report.slides_readings import Reading, measure, readings, run
from bsvdd.comparison.scenarios.slides import Slides
from bsvdd.inference.metrics import evaluate

from bsvdd import BDD, SVDD, Cutoff, kernels, priors

pytestmark = pytest.mark.filterwarnings(
    "ignore::bsvdd.inference.warning.DiagnosticWarning",
    "ignore::bsvdd.inference.warning.DataWarning",
)
SMALL = Slides(v=5, n_train=120, n_test=300, p=6)
PAIR = SMALL.pair(0)
RAW = "polynomial 2, raw"
METRICS = list(published.COMPARED)


def test_readings_are_all_combinations_with_names_of_their_own():
    all_of_them = readings()
    assert len({reading.name for reading in all_of_them}) == len(all_of_them)
    count = {m: sum(r.model == m for r in all_of_them) for m in ("SVDD", "BDD", "BSVDD", "BSVDD-M")}
    # kernels x rows x C x positive; kernels x (ranks x rows + criteria x left out) x positive
    assert count == {"SVDD": 3 * 2 * 2 * 2, "BDD": 3 * (5 * 2 + 6) * 2, "BSVDD": 36, "BSVDD-M": 36}
    assert {r.model for r in readings(["BDD"])} == {"BDD"}


@pytest.mark.parametrize("rows", ["y = 0", "near component"])
def test_svdd_is_the_sphere_of_the_rows_that_it_names(rows):
    reading = Reading("SVDD", RAW, rows, "hard margin", "sphere", "minority")
    members = ~PAIR.train.minority if rows == "y = 0" else ~PAIR.far[0]
    est = SVDD(kernel=kernels.Polynomial(2), C=1, cutoff="model").fit(PAIR.train.X[members])
    expected = evaluate(PAIR.test.minority, est.predict(PAIR.test.X) == -1)
    found = measure([reading], PAIR).iloc[0]
    np.testing.assert_allclose(found[METRICS].to_numpy(), [expected[m] for m in METRICS])


def test_bdd_is_its_mode_and_the_cth_smallest_distance():
    """By the linear system on the raw polynomial kernel matrix."""
    reading = Reading("BDD", "RBF, scale", "y = 0", "mode", "c = 0.7 n0", "minority")
    X = PAIR.train.X[~PAIR.train.minority]
    mean, sd, n = X.mean(axis=0), X.std(axis=0), len(X)
    u, z = (X - mean) / sd, (PAIR.test.X - mean) / sd
    gamma = 1 / (6 * u.var())
    K, k = (np.exp(-gamma * ((a[:, None] - u) ** 2).sum(axis=2)) for a in (u, z))
    r = K.sum(axis=1)
    w = np.linalg.solve(n * K + np.eye(n), r - np.sqrt(r))
    inside, new = -K @ w, -k @ w  # the order of the distances
    flagged = new > np.sort(inside)[int(np.ceil(0.7 * n)) - 1]
    expected = evaluate(PAIR.test.minority, flagged)
    found = measure([reading], PAIR).iloc[0]
    np.testing.assert_allclose(found[METRICS].to_numpy(), [expected[m] for m in METRICS])


def test_the_other_positive_class_exchanges_the_error_rates():
    two = [
        Reading("SVDD", RAW, "y = 0", "hard margin", "sphere", p) for p in ("minority", "majority")
    ]
    one, other = (row for _, row in measure(two, PAIR).iterrows())
    assert (one["fpr"], one["fnr"]) == (other["fnr"], other["fpr"])
    assert (one["accuracy"], one["g_mean"]) == (other["accuracy"], other["g_mean"])
    assert one["f1"] != other["f1"]


@pytest.mark.parametrize("rows", ["5 folds", "training rows"])
def test_d_opt_has_the_best_criterion_on_the_rows_that_it_names(rows):
    kernel = slides_readings.KERNELS["RBF, scale"]
    mine = [r for r in readings(["BDD"]) if r.kernel == "RBF, scale" and r.fit == "draws"]
    mine = [r for r in mine if r.rule.endswith(rows) and r.positive == "minority"]
    assert len(mine) == 3
    found = measure(mine, PAIR)
    y = PAIR.train.minority.astype(int)
    policy = Cutoff("f1", cv=5 if rows == "5 folds" else "train", uncertain=False)
    est = BDD(kernel=kernel, prior=priors.RowSum(exponent=0.5), likelihood_scale=1.0)
    est = est.set_params(draws=300, tune=100, cutoff=policy).fit(PAIR.train.X, y)
    d = est.fit_.center.distance_of(est.fit_.left_out)
    thresholds = np.concatenate([[0], np.sort(d)])
    values = {t: evaluate(PAIR.train.minority, d > t) for t in thresholds}
    for reading, metric in zip(mine, ("f1", "g_mean", "accuracy"), strict=True):
        best = max(value[metric] for value in values.values())
        flags = {
            tuple(est.with_cutoff(float(t)).predict(PAIR.test.X))
            for t, value in values.items()
            if value[metric] >= best - 1e-12
        }
        shares = sorted(np.mean(np.array(flag) == -1) for flag in flags)
        row = found.loc[reading.name]
        share = PAIR.test.minority.mean() * (1 - row["fnr"])
        share += (1 - PAIR.test.minority.mean()) * row["fpr"]
        assert shares[0] - 0.02 <= share <= shares[-1] + 0.02


def test_the_stored_table_has_all_readings():
    """The figures that the guide's page on reports quotes."""
    path = Path(__file__).parents[2] / "docs" / "study" / "slides_readings.csv"
    table = pd.read_csv(path, index_col="reading")
    known = readings()
    assert sorted(table.index) == sorted(r.name for r in known) and len(known) == 192
    pairs = {r.name: 5 if r.fit == "draws" else 10 for r in known}
    pairs |= {r.name: 1 for r in known if r.model == "BSVDD-M"}
    assert table["pairs"].to_dict() == pairs
    nearest = table[table["nearest"]].set_index("model")["distance"]
    assert nearest["SVDD"] == pytest.approx(0.011, abs=5e-4)
    assert nearest["BDD"] == pytest.approx(0.009, abs=5e-4)
    assert nearest["BSVDD"] == pytest.approx(0.006, abs=5e-4)
    assert nearest["BSVDD-M"] == pytest.approx(0.009, abs=5e-4)
    assert (nearest < 0.02).all()


def test_the_distance_is_the_mean_difference_from_the_printed_row():
    some = [r for r in readings(["SVDD"]) if r.kernel == RAW and r.positive == "minority"]
    table = run(some, SMALL, variances=(5.0, 20.0), replicates=1)
    assert table["nearest"].sum() == 1 and table["nearest"].iloc[0]
    assert (np.diff(table["distance"]) >= 0).all()
    printed = published.table()
    from bsvdd.comparison.run.cell import replicate_seed

    seed, gaps = replicate_seed(0, 0), []
    for v in (5.0, 20.0):
        pair = Slides(v=v, n_train=120, n_test=300, p=6).pair(seed)
        got = measure(some, pair, seed).loc[table.index[0], METRICS].to_numpy(dtype=float)
        gaps.append(np.abs(got - printed.loc[("SVDD", v), METRICS].to_numpy(dtype=float)))
    assert table["distance"].iloc[0] == pytest.approx(np.mean(gaps))
