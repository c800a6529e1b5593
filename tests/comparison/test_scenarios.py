"""Scenarios: pairs with the counts, places and labels that were asked for; the slides' formulas."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.comparison.run import studies
from bsvdd.comparison.scenarios import datasets, slides
from bsvdd.comparison.scenarios.datasets import Dataset
from bsvdd.comparison.scenarios.generators import (
    BORDER,
    MODES,
    PETALS,
    SHAPES,
    SQUARE,
    Shape,
    depth,
)
from bsvdd.comparison.scenarios.scenario import Real
from bsvdd.comparison.scenarios.slides import Slides
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import kstest, norm
from sklearn.metrics import roc_auc_score

WINE, VAN = (datasets.embedded(name) for name in ("wine_cultivar3", "vehicle_van"))


@pytest.mark.parametrize(
    "scenario",
    [
        *(Shape(kind, n_train=200, n_test=500, share=1 / 20) for kind in SHAPES),
        Shape("modes", share=0.07, mislabelled=0.3),
        Shape("ring", labelled=False),
        Slides(v=0, n_train=500, n_test=1000, share=1 / 50),
        Real(WINE),
        Real(VAN, 50),
    ],
    ids=lambda scenario: scenario.name,
)
def test_counts_are_those_asked_for_and_seeds_give_equal_pairs(scenario):
    scenario.check()
    pair, again, other = scenario.pair(1), scenario.pair(1), scenario.pair(2)
    for a, b in ((pair.train, again.train), (pair.test, again.test)):
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.minority, b.minority)
    assert not np.array_equal(pair.train.X, other.train.X)
    assert not np.array_equal(pair.train.X, pair.test.X[: len(pair.train.X)])
    n = {name: getattr(scenario, name, None) for name in ("n_train", "n_test", "share")}
    if n["share"]:
        assert pair.test.minority.sum() == round(n["share"] * n["n_test"])
        n1 = round(n["share"] * n["n_train"])
        left = scenario.labelled * (n1 - round(scenario.mislabelled * n1))
        assert pair.train.minority.sum() == left
    if n["n_train"] and scenario.labelled:
        assert (len(pair.train.X), len(pair.test.X)) == (n["n_train"], n["n_test"])


def test_options_hide_labels_of_training_rows_only():
    clean = Slides(v=0, n_train=400, n_test=100, share=0.1)
    hidden, none = replace(clean, mislabelled=0.25), replace(clean, labelled=False)
    truth = clean.pair(5)
    for scenario in (hidden, none):
        np.testing.assert_array_equal(scenario.pair(5).test.minority, truth.test.minority)
    pair = hidden.pair(5)
    np.testing.assert_array_equal(pair.train.X, truth.train.X)
    assert (pair.train.minority & ~truth.train.minority).sum() == 0
    assert truth.train.minority.sum() - pair.train.minority.sum() == 10
    assert hidden.name == f"{clean.name}, 25% of minority mislabelled"
    pair = none.pair(5)
    np.testing.assert_array_equal(pair.train.X, truth.train.X[~truth.train.minority])
    assert not pair.train.minority.any()
    assert none.name == f"{clean.name}, no minority in training"


# shapes


def rows(kind, noise=0.15, n=20_000):
    data = Shape(kind, 100, n, 0.5, noise).pair(3).test
    return data.X[~data.minority], data.X[data.minority]


def test_ring_moons_and_modes_have_their_geometry():
    majority, minority = rows("ring")
    r = np.linalg.norm(majority, axis=1)
    assert r.mean() == pytest.approx(1, abs=0.01) and r.std() == pytest.approx(0.15, abs=0.01)
    assert kstest(np.arctan2(*majority.T), "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.001
    r = np.linalg.norm(minority, axis=1)
    outside = r > 1.3
    assert outside.mean() == pytest.approx(0.5, abs=0.01)
    assert np.sqrt(np.mean(r[~outside] ** 2) / 2) == pytest.approx(0.35, abs=0.01)

    majority, minority = rows("moons", noise=0.0)
    np.testing.assert_allclose(np.linalg.norm(majority, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(minority - [1, 0.5], axis=1), 1.0)

    majority, minority = rows("modes")
    angle = 2 * np.pi * np.arange(MODES) / MODES
    centers = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    near = np.linalg.norm(majority[:, None] - centers, axis=2)
    np.testing.assert_allclose(np.bincount(near.argmin(axis=1)) / len(majority), 0.2, atol=0.02)
    assert np.sqrt(np.mean(near.min(axis=1) ** 2) / 2) == pytest.approx(0.15, abs=0.005)
    assert all(kstest(column, "uniform", (-3, 6)).pvalue > 0.001 for column in minority.T)


@pytest.mark.parametrize("overlap", [0.0, 0.3])
def test_a_clover_has_its_minority_in_petals(overlap):
    """Majority rows lie around the petals, and a share of the minority in their border."""
    majority, minority = rows("clover", noise=overlap, n=1000)
    assert (depth(majority) >= 1).all() and np.abs(majority).max() <= SQUARE
    inside = depth(minority)
    assert (inside >= 1).sum() == round(overlap * 500) and inside.max() < BORDER
    angles, (first, *_) = np.linspace(0, 6, 7), PETALS
    edge = (first[:, :2] @ np.array([np.cos(angles), np.sin(angles)])).T + first[:, 2]
    np.testing.assert_allclose(depth(edge), 1.0)


# real sets


def test_halves_of_a_real_set_and_fewer_rows_of_a_large_one():
    pair = Real(WINE).pair(3)
    assert pair.train.minority.sum() == pair.test.minority.sum() == 24
    both = np.concatenate([pair.train.X, pair.test.X])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(WINE.X, axis=0))
    scenario, whole = Real(VAN, 100), Real(VAN).pair(3)
    pair = scenario.pair(3)
    np.testing.assert_array_equal(pair.test.X, whole.test.X)
    known, drawn = (
        list(map(tuple, np.column_stack([d.X, d.minority]))) for d in (whole.train, pair.train)
    )
    assert len(drawn) == 100 and all(drawn.count(row) <= known.count(row) for row in drawn)
    assert pair.train.minority.sum() == round(100 * 99 / 423)
    names = ["wine_cultivar3", "vehicle_van, 89 training rows"]  # half of 178 rows are 89
    plan = studies.real([WINE, VAN], rows=89)
    assert all([s.name for s in study.scenarios] == names for study in plan.studies)


@pytest.mark.parametrize(("rows", "n_train"), [(1000, 20), (7, 7)])
def test_half_of_the_majority_trains_alone(rows, n_train):
    """All other rows test: the other half, and every minority row."""
    X = np.arange(50.0)[:, None]
    scenario = Real(Dataset("d", X, np.arange(50) % 5 == 0), rows, labelled=False)
    pair = scenario.pair(3)
    assert len(pair.train.X) == n_train and not pair.train.minority.any()
    assert (len(pair.test.X), int(pair.test.minority.sum())) == (30, 10)
    assert len(set(np.concatenate([pair.train.X, pair.test.X])[:, 0])) == n_train + 30
    names = {cell.candidate.name for cell in studies.one_class([scenario.data]).cells()}
    assert {"SVDD", "BDD", "BSVDD", "OCSVM", "kNN", "KDE"} <= names
    assert not names & {"BSVDD-M", "SVM", "LS-SVM"}


def test_sets_are_equal_by_name_and_content():
    one, same = datasets.moon(seed=1), datasets.moon(seed=1)
    assert Real(one) == Real(same) and hash(Real(one)) == hash(Real(same))
    assert Real(one) not in (Real(datasets.moon(seed=2)), Real(replace(one, name="other")))


# the generator of the slides


@pytest.mark.parametrize("s", [1e-9, 0.02, 0.999, 1.0, 1.7, 14.0, 300.0])
@pytest.mark.parametrize("m", [-40.0, -3.0, 0.0, 5.0])
def test_logistic_normal_is_the_integral(m, s):
    def integrand(z):
        return expit(m + s * z) * norm.pdf(z)

    turn = -m / s
    at = [p for p in (turn - 5 / s, turn, turn + 5 / s) if -12 < p < 12]
    truth = quad(integrand, -12, 12, points=at or None, limit=500, epsabs=1e-13)[0]
    got = slides.logistic_normal(np.array([m]), np.array([s]))[0]
    assert got == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("v", [5.0, 20.0])
def test_probability_is_that_of_a_row_with_coefficients_of_its_own(v):
    """y drawn by way of its own beta, as the slides say, has the probability used here."""
    rng = np.random.default_rng(0)
    x = np.array([6.0, 8.5, 7.2, 9.0, 0.3])
    beta = slides.COEFFICIENTS + np.sqrt(v) * rng.normal(size=(200_000, 4))
    drawn = expit(slides.INTERCEPT + beta @ x[:4]).mean()
    assert slides.probability(x[None], np.sqrt(v))[0] == pytest.approx(drawn, abs=0.005)


TOLD = {
    "share": lambda pair: pair.test.base_rate,
    "AUC of Bayes' rule": lambda pair: roc_auc_score(pair.test.minority, pair.truth),
    "its accuracy": lambda pair: np.mean((pair.truth > 0.5) == pair.test.minority),
    "near": lambda pair: pair.test.X[~pair.far[1], :4].mean(),
    "far": lambda pair: pair.test.X[pair.far[1], :4].mean(),
    "far rows": lambda pair: pair.far[1].mean(),
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # the shares that accuracy, FPR and FNR of the published table imply, and its low ceiling
        (dict(v=5), {"share": 0.433, "AUC of Bayes' rule": 0.559, "its accuracy": 0.575}),
        (dict(v=10), {"share": 0.452}),
        (dict(v=20), {"share": 0.466, "AUC of Bayes' rule": 0.529, "its accuracy": 0.538}),
        (dict(v=0), {"share": 0.116, "AUC of Bayes' rule": 0.986, "its accuracy": 0.974}),
        *(
            (dict(v=v, far=far), {"share": share})
            for v, *shares in ((5, 0.422, 0.540), (10, 0.444, 0.528), (20, 0.460, 0.520))
            for far, share in enumerate(shares)
        ),
        (dict(v=5, share=0.3), {"share": 0.3, "near": 7.0, "far": 10.0}),
        (dict(v=5), {"near": 7.0, "far": 10.0, "far rows": 0.1}),
    ],
    ids=str,
)
def test_what_is_drawn(options, expected):
    pairs = [Slides(n_train=2, n_test=50_000, p=4, **options).pair(seed) for seed in range(2)]
    for what, value in expected.items():
        atol = 0.03 if what in ("near", "far") else 0.006
        assert np.mean([TOLD[what](pair) for pair in pairs]) == pytest.approx(value, abs=atol), what


@pytest.mark.parametrize(
    ("options", "low", "high"), [({}, 0.002, 0.0085), ({"coefficients": "data set"}, 0.38, 0.5)]
)
def test_shares_of_pairs_differ_as_they_are_read(options, low, high):
    """By rows as in the published table, where the sd is near the binomial .005."""
    drawn = [Slides(v=5, n_train=2, n_test=10_000, p=4, **options).pair(seed) for seed in range(12)]
    assert low < np.std([pair.test.base_rate for pair in drawn], ddof=1) < high


def test_rows_of_a_controlled_share_are_rows_given_their_class(monkeypatch):
    """E[x | y] is the same with and without control."""
    free = Slides(v=0, n_train=2, n_test=60_000, p=4).pair(0).test
    held = Slides(v=0, n_train=2, n_test=60_000, p=4, share=0.4).pair(1)
    assert held.truth is None
    for y in (False, True):
        a, b = (d.X[d.minority == y] for d in (free, held.test))
        np.testing.assert_allclose(a.mean(axis=0), b.mean(axis=0), atol=0.08)
    monkeypatch.setattr(slides, "MOST_DRAWS", 3)
    with pytest.raises(ValueError, match="not met in 3000 draws; one class hardly occurs"):
        Slides(v=0, n_train=1000, far=0.0, share=0.9).pair(0)


def test_heavy_tails_keep_mean_and_covariance():
    X = Slides(v=0, n_train=2, n_test=200_000, p=6, far=0.0, df=6.0).pair(0).test.X
    np.testing.assert_allclose(X.mean(axis=0), [7, 7, 7, 7, 0, 0], atol=0.02)
    covariance = np.cov(X, rowvar=False)
    np.testing.assert_allclose(covariance, np.diag([2, 2, 2, 2, 1, 1]), atol=0.05)
    z = (X[:, 4] - X[:, 4].mean()) / X[:, 4].std()
    assert np.mean(np.abs(z) > 4) > 10 * 2 * norm.sf(4)  # P(|t_6| sqrt(4/6) > 4) = .0027
    readings = [{}, {"v": 10}, {"p": 100}, {"share": 0.02}, {"spread": "sd"}, {"df": 3.0}]
    assert len({Slides(**each).name for each in readings}) == len(readings)
    assert (Slides(v=4).sd, Slides(v=4, spread="sd").sd) == (2, 4)


# the designs of the studies


@pytest.mark.parametrize("quick", [True, False])
def test_designs_have_the_rows_that_their_levels_say(quick):
    design = studies.generated_design(quick)
    for p, (scenario,) in design["features with v = 5"].items():
        train = scenario.pair(0).train
        assert train.X.shape == (200 if quick else 300, int(p))
        assert 0.3 < train.base_rate < 0.55  # with v = 5 the share is .43, and not 1/10
    for share, (scenario,) in design["minority share"].items():
        n = 200 if quick else 600
        assert scenario.pair(0).train.minority.sum() == round(n / int(share.partition("/")[2]))
    for study in studies.settings(quick).studies:
        study.check()
    if not quick:
        assert {name: len(levels) for name, levels in design.items()} == {
            **{"rows in training": 3, "features": 3, "features with v = 5": 3},
            **{"minority share": 6, "boundary": 5, "tails": 2, "mislabelled minority": 5},
            "labelled minority": 2,
        }


def test_the_design_of_real_data():
    plan = studies.real([datasets.embedded(n) for n in ("wine_cultivar3", "yeast_ME2", "musk")])
    assert {f: {k: len(v) for k, v in x.items()} for f, x in plan.design.items()} == {
        "rows of the data set": {"up to 500": 1, "501 to 1500": 1, "above 1500": 1},
        "features": {"up to 10": 1, "11 to 40": 1, "above 40": 1},
        "minority share": {"up to 5%": 2, "above 15%": 1},
        "data set": {"wine_cultivar3": 1, "yeast_ME2": 1, "musk, 1000 training rows": 1},
    }


def nan(n0, n1):
    X = np.arange(2.0 * (n0 + n1)).reshape(-1, 2)
    X[7, 1] = X[9, 0] = np.nan
    return Dataset("w", X, np.arange(n0 + n1) >= n0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shape("star"), "kind must be one of ring"),
        (lambda: Shape("ring", share=0.0), "share must be .* one row or more, got 0.0"),
        (lambda: Shape("ring", n_train=20, share=0.01), "one row or more, got 0.01"),
        (lambda: Shape("ring", noise=2.0), "noise must be in"),
        (lambda: Shape("ring", mislabelled=1.0), "mislabelled must be in"),
        (lambda: Slides(v=-1), "v must be at least 0"),
        (lambda: Slides(p=3), "p must be at least 4"),
        (lambda: Slides(share=1.0), "share must be in"),
        (lambda: Slides(coefficients="row"), "coefficients must be 'observation'"),
        (lambda: Slides(spread="precision"), "'variance' or 'sd'"),
        (lambda: Slides(df=2), "df must be above 2"),
        (lambda: Real(VAN, 4.5), "a whole number .* got 4.5"),
        (lambda: Real(nan(20, 9)).check(), r"w: row 7, column 1 .* is nan.* 2 row"),
        (
            lambda: Real(Dataset("w", np.eye(9), np.zeros(9, bool))).check(),
            "w: a comparison needs at least 2 minority rows and .* got 0",
        ),
        (
            lambda: Real(Dataset("w", np.eye(20), np.arange(20) < 13), 6).check(),
            r"w: 6 training rows would be 4 minority and 2 majority",
        ),
        (
            lambda: Real(Dataset("w", np.eye(50), np.arange(50) < 40), 20).check(),
            r"w: .* most rows are minority \(80%\).* give the rarer class",
        ),
        (
            lambda: Real(datasets.embedded("yeast_ME2"), 10).check(),
            "yeast_ME2: 10 training rows would be 0 minority and 10 majority.* draw more rows",
        ),
    ],
)
def test_scenarios_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
