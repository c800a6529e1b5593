"""What people know about rows: batches and weights, told and not told."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold

import bsvdd
from bsvdd import BSVDD, SVDD, scorers
from bsvdd.base.warning import DataWarning, DiagnosticWarning
from bsvdd.cli.rows import RowOptions
from bsvdd.estimators import unnamed_groups

ALIKE = "rows of one 'batch' are alike"


def visits(k=20, size=6, within=0.3, q=3, seed=0, as_text=True):
    """Return rows of batches with their names, which vary with sd 1."""
    rng, batch = np.random.default_rng(seed), np.repeat(np.arange(k), size)
    rows = rng.normal(size=(k, q))[batch] + within * rng.normal(size=(k * size, q))
    names = [f"B{i}" for i in batch] if as_text else rng.permutation(k)[batch] + 100
    return pd.DataFrame(rows, columns=list("xyz")[:q]).assign(batch=names)


def test_columns_of_rows_are_no_features(tmp_path):
    told = visits().assign(t=np.tile([1.0, 2.0, 0.0], 40))
    est = SVDD().fit(told, groups="batch", sample_weight="t")
    features = told[["x", "y", "z"]]
    same = SVDD().fit(
        features, groups=told["batch"].to_numpy(), sample_weight=told["t"]
    )
    assert list(est.feature_names_in_) == ["x", "y", "z"]
    est.save(tmp_path / "model")
    new = visits(seed=1)
    for each in (same, bsvdd.load(tmp_path / "model")):
        np.testing.assert_array_equal(
            est.score_samples(new), each.score_samples(new[list("xyz")])
        )
        pd.testing.assert_frame_equal(est.decision(), each.decision())
    text = " ".join(str(est).split())
    assert (
        "40 rows count nothing, 80 rows count; by their weights they are 72 rows"
        in text
    )
    assert (
        "20 groups leave one by one, and the smallest rate that they can hold is 0.048"
        in text
    )
    assert "120 rows; 3 columns" in text  # not "0 minority" where nobody labelled
    assert "20 groups, each of which was left out whole" in bsvdd.methods(est)


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
def test_rows_that_hang_together_are_told_of():
    """The rate is about the truth: of rows of new batches so many are flagged."""
    with pytest.warns(DataWarning, match=ALIKE) as caught:
        est = BSVDD(draws=200).fit(visits(k=60, within=0.5, as_text=False))
    text = next(text for each in caught if ALIKE in (text := str(each.message)))
    rate = float(text.split("about ")[1].split()[0])
    new = visits(k=400, size=1, within=0.5, seed=7).drop(columns="batch")
    new["batch"] = np.random.default_rng(3).integers(100, 160, len(new))
    assert abs(rate - (est.predict(new) == -1).mean()) < 0.1
    told = text.split("; ")[1].split(" asks")[0]  # the line that it advises
    eval(
        f"BSVDD(draws=200).{told}", {"BSVDD": BSVDD, "X": visits(k=60, within=0.5)}
    )  # no warning


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.assign(batch=np.random.default_rng(0).permutation(X["batch"])),
        lambda X: X.assign(batch=X["x"].round(1)),
        lambda X: X.assign(
            batch=(10 * X["x"]).round().astype(int)
        ),  # a measurement, no batch
        lambda X: X.assign(batch=["a", "b", "c", "d"] * 30),
        lambda X: X.drop(columns="batch"),
    ],
    ids=[
        "rows that do not hang together",
        "decimals",
        "a trend",
        "few levels",
        "no column",
    ],
)
def test_other_columns_are_no_batches(change):
    # in no order; warnings are errors
    SVDD().fit(change(visits(seed=2)).sample(frac=1.0, random_state=0))


def series(rho, n=200, seed=0):
    """Return rows that hang together with the one before."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    for i in range(1, n):
        X[i] = rho * X[i - 1] + np.sqrt(1.0 - rho**2) * X[i]
    return X


def test_an_order_is_told_of_and_none_by_chance():
    found = [unnamed_groups.correlation_time(series(0.0, seed=i))[1] for i in range(99)]
    assert sum(tau > 0.0 for tau in found) <= 2
    for rho in (0.5, 0.9):  # tau is (1 + rho) / (1 - rho)
        r, tau = unnamed_groups.correlation_time(series(rho, 20_000))
        assert r == pytest.approx(rho, abs=0.03)
        assert tau == pytest.approx((1.0 + rho) / (1.0 - rho), rel=0.2)


@pytest.mark.parametrize("of", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize(
    ("rho", "words"), [(0.7, "holds; fit.* of a new block$"), (0.98, "too few")]
)
def test_a_series_is_told_of(of, rho, words):
    X = of(series(rho))
    with pytest.warns(DataWarning, match=words) as caught:
        est = BSVDD().fit(X)
    text = str(caught[0].message)
    assert text in bsvdd.facts(est).warnings
    rate = float(text.split("order, about ")[1].split()[0])
    new = of(np.random.default_rng(9).normal(size=(999, 4)))
    assert abs(rate - (est.predict(new) == -1).mean()) < 0.1
    if rho < 0.9:
        told = eval(f"BSVDD().{text.split('; ')[2].split(' asks')[0]}")
        assert (told.predict(new) == -1).mean() < 0.15


def test_the_correlation_is_that_of_the_analysis_of_variance():
    X = visits(seed=3, within=1.0)
    level = pd.factorize(X["batch"])[0][:115]  # one batch is smaller
    x = X["x"].to_numpy()[:115]
    F = f_oneway(*(x[level == i] for i in range(20))).statistic
    n_0 = (115 - (np.bincount(level) ** 2).sum() / 115) / 19
    found = unnamed_groups.correlation((x - x.mean())[:, None], level)
    np.testing.assert_allclose(found, (F - 1.0) / (F - 1.0 + n_0))


@pytest.mark.parametrize(
    ("n", "groups", "words"),
    [
        (9, None, None),  # they hold one in ten
        (
            7,
            None,
            "7 rows are few for a false-alarm rate of 0.1: .* about 0.12 or less; .* 9 "
            "rows",
        ),
        (
            60,
            np.arange(60) % 5,
            "5 groups are few .* of about 0.17 or less; 0.1 needs 9 groups",
        ),
    ],
)
def test_few_rows_or_groups_are_told_of(n, groups, words):
    says = (
        nullcontext() if words is None else pytest.warns(DiagnosticWarning, match=words)
    )
    with says:  # warnings are errors
        SVDD().fit(np.random.default_rng(0).normal(size=(n, 2)), groups=groups)


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
@pytest.mark.parametrize("cls", [bsvdd.BSVDD, bsvdd.BDD])
def test_weights_whose_squares_vanish_are_none(cls):
    X = np.random.default_rng(0).normal(size=(600, 2))
    t = 0.5 ** np.arange(600.0)
    found = cls(draws=50).fit(X, sample_weight=t)
    none = cls(draws=50).fit(X, sample_weight=np.where(t < 1e-100, 0.0, t))
    np.testing.assert_array_equal(found.score_samples(X), none.score_samples(X))


def test_weights_may_leave_few_rows_in_effect():
    """The rate of a fit goes by the weights, as does the share beyond the cutoff."""
    X, t = np.random.default_rng(0).normal(size=(60, 2)), 0.7 ** np.arange(60)[::-1]
    with pytest.warns(
        DiagnosticWarning, match="^6 rows in effect, by their weights, are few"
    ):
        SVDD().fit(X, sample_weight=t)
    est = SVDD().fit(X, sample_weight=np.where(np.arange(60) < 30, 0.25, 1.0))
    beyond = bsvdd.facts(est).beyond["majority"]
    flagged = ~est.decision()["normal"].to_numpy()
    assert beyond.count == flagged.sum()
    assert beyond.share == pytest.approx(
        (flagged[:30].sum() / 4 + flagged[30:].sum()) / 37.5
    )
    assert "rows (by weight " in " ".join(str(est).split())


TABLE = visits().assign(
    taken=pd.date_range("2025-01-01", periods=120).astype(str),
    year=np.arange(120),
    weight=np.linspace(0.5, 2.0, 120),
)
HALVES = 0.5 ** ((119 - np.arange(120)) / 30)


def test_a_suspect_value_is_that_text_whatever_rows_share_an_id():
    index = pd.Index(["i", "i", "j", "k"])
    X = pd.DataFrame({"version": ["v1", "v1.0", None, "v1"], "a": 1.0}, index)
    _, found = RowOptions(suspect=("version=v1.0",)).taken(X)
    assert found["sample_weight"].tolist() == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("options", "weight", "gone"),
    [
        ({"weight": ("weight",)}, TABLE["weight"], ["weight"]),
        ({"recent": ("taken=30D",)}, HALVES, ["taken"]),
        ({"recent": ("taken=720h",)}, HALVES, ["taken"]),
        ({"recent": ("year=30",)}, HALVES, ["year"]),
        ({"suspect": ("batch=B3",)}, TABLE["batch"] != "B3", ["batch"]),
        (
            {"suspect": ("batch=B3", "batch=B7"), "recent": ("year=30",)},
            HALVES * ~TABLE["batch"].isin(["B3", "B7"]),
            ["batch", "year"],
        ),
        ({"recent": ("year=30", "taken=30D")}, HALVES**2, ["taken", "year"]),
        ({"suspect": ("year=3.0",)}, TABLE["year"] != 3, ["year"]),
        (
            {"group": ("batch",), "suspect": ("batch=B3",)},
            TABLE["batch"] != "B3",
            ["batch"],
        ),
    ],
    ids=str,
)
def test_options_are_weights(options, weight, gone):
    X, found = RowOptions(**options).taken(TABLE)
    np.testing.assert_allclose(
        found.pop("sample_weight"), np.asarray(weight, dtype=float)
    )
    assert list(X) == [name for name in TABLE if name not in gone]
    groups = found.pop("groups", None)
    assert groups is None or groups.tolist() == TABLE["batch"].tolist()
    assert (groups is not None) == ("group" in options) and not found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"group": ("patch",)},
            r"--group: 'patch' is no column beside .* \(did you mean 'batch'",
        ),
        (
            {"weight": ("batch",)},
            "--weight 'batch': expected a number in each row, got 'B0'",
        ),
        (
            {"recent": ("taken=30",)},
            "--recent taken=30: expected more than 0 weeks, days or hours",
        ),
        (
            {"recent": ("year=30D",)},
            "expected a positive number, in the unit of the column",
        ),
        ({"recent": ("taken",)}, "--recent taken: expected COLUMN=VALUE"),
        (
            {"recent": ("batch=3",)},
            "--recent 'batch': expected dates or numbers, got 'B0'",
        ),
        (
            {"suspect": ("batch=B33",)},
            "--suspect batch=B33: no row has this value .*'B3'",
        ),
    ],
    ids=str,
)
def test_what_no_column_says_gets_a_sentence(options, words):
    with pytest.raises(ValueError, match=words):
        RowOptions(**options).taken(TABLE)


def test_scikit_learn_routes_groups_and_weights():
    rows = visits().drop(columns="batch")
    batch, weight = np.repeat(np.arange(20), 6), np.linspace(1.0, 2.0, 120)
    y = np.arange(120) % 6 == 0
    with config_context(enable_metadata_routing=True):
        est = SVDD().set_fit_request(groups=True, sample_weight=True)
        search = GridSearchCV(
            est,
            {"outlier_fraction": [0.1, 0.2]},
            scoring=scorers.roc_auc,
            cv=GroupKFold(4),
        ).fit(rows, y, groups=batch, sample_weight=weight)
    training = search.best_estimator_.fit_.rows
    np.testing.assert_array_equal(training.group_labels, batch)
    np.testing.assert_allclose(training.weight, weight / weight[~y].mean())
