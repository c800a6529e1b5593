"""Scenarios: pairs with the counts, places and labels that were asked for."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.comparison.run import studies
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.datasets import Dataset
from bsvdd.comparison.scenarios.generators import (
    BORDER,
    MODES,
    PADS,
    PETALS,
    SHAPES,
    SQUARE,
    Shape,
    depth,
)
from bsvdd.comparison.scenarios.scenario import Real
from bsvdd.comparison.scenarios.slides import Slides
from scipy.stats import kstest

KINDS = pytest.mark.parametrize("kind", SHAPES)


@KINDS
@pytest.mark.parametrize("share", [1 / 10, 1 / 20, 1 / 100])
def test_shapes_have_the_counts_and_seeds_that_are_asked_for(kind, share):
    scenario = Shape(kind, n_train=200, n_test=500, share=share)
    pair, again, other = scenario.pair(1), scenario.pair(1), scenario.pair(2)
    for data, n in ((pair.train, 200), (pair.test, 500)):
        assert data.X.shape == (n, 2)
        assert data.minority.sum() == round(share * n)
    np.testing.assert_array_equal(pair.test.X, again.test.X)
    np.testing.assert_array_equal(pair.train.minority, again.train.minority)
    assert not np.array_equal(pair.train.X, other.train.X)
    assert not set(map(tuple, pair.train.X)) & set(map(tuple, pair.test.X))


def rows(kind, noise=0.15, n=20_000):
    data = Shape(kind, 100, n, 0.5, noise).pair(3).test
    return data.X[~data.minority], data.X[data.minority]


def test_ring_is_a_ring_with_minority_in_and_around_it():
    majority, minority = rows("ring")
    r = np.linalg.norm(majority, axis=1)
    assert r.mean() == pytest.approx(1, abs=0.01) and r.std() == pytest.approx(0.15, abs=0.01)
    angle = np.arctan2(*majority.T)
    assert kstest(angle, "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.001
    r = np.linalg.norm(minority, axis=1)
    outside = r > 1.3
    assert outside.mean() == pytest.approx(0.5, abs=0.01)
    assert np.sqrt(np.mean(r[~outside] ** 2) / 2) == pytest.approx(0.35, abs=0.01)


def test_moons_lie_on_half_circles():
    majority, minority = rows("moons", noise=0.0)
    np.testing.assert_allclose(np.linalg.norm(majority, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(minority - [1, 0.5], axis=1), 1.0)


def test_modes_are_five_clusters_before_a_background():
    majority, minority = rows("modes")
    angle = 2 * np.pi * np.arange(MODES) / MODES
    centers = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    near = np.linalg.norm(majority[:, None] - centers, axis=2)
    counts = np.bincount(near.argmin(axis=1)) / len(majority)
    np.testing.assert_allclose(counts, 0.2, atol=0.02)
    assert np.sqrt(np.mean(near.min(axis=1) ** 2) / 2) == pytest.approx(0.15, abs=0.005)
    for column in minority.T:
        assert kstest(column, "uniform", (-3, 6)).pvalue > 0.001


@pytest.mark.parametrize(("kind", "maps"), [("clover", PETALS), ("paw", PADS)])
@pytest.mark.parametrize("overlap", [0.0, 0.3])
def test_clover_and_paw_have_their_minority_in_regions(kind, maps, overlap):
    """Majority rows lie around the regions, and a share of the minority in their border."""
    majority, minority = rows(kind, noise=overlap, n=1000)
    assert (depth(maps, majority) >= 1).all() and np.abs(majority).max() <= SQUARE
    inside = depth(maps, minority)
    assert (inside >= 1).sum() == round(overlap * 500) and inside.max() < BORDER


def test_depth_is_one_on_the_edge_of_an_ellipse():
    angles, petal = np.linspace(0, 6, 7), PETALS[0]
    edge = (petal[:, :2] @ np.array([np.cos(angles), np.sin(angles)])).T + petal[:, 2]
    np.testing.assert_allclose(depth([petal], edge), 1.0)
    np.testing.assert_allclose(depth([petal], petal[None, :, 2]), 0.0, atol=1e-15)


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
    assert not pair.train.minority.any() and none.n_minority == 0
    assert none.name == f"{clean.name}, no minority in training"


@pytest.mark.parametrize("quick", [True, False])
def test_the_next_steps_of_the_slides_have_the_rows_that_their_levels_say(quick):
    design = studies.generated_design(quick)
    for p, (scenario,) in design["features with v = 5"].items():
        train = scenario.pair(0).train
        assert train.X.shape == (200 if quick else 300, int(p))
        assert 0.3 < train.base_rate < 0.55  # with v = 5 the share is .43, and not 1/10
    for share, (scenario,) in design["minority share"].items():
        n = 200 if quick else 600
        assert scenario.pair(0).train.minority.sum() == round(n / int(share.partition("/")[2]))


def test_a_real_set_is_halved_and_checked():
    data = datasets.embedded("wine_cultivar3")
    pair = Real(data).pair(3)
    assert pair.train.minority.sum() == pair.test.minority.sum() == 24 == Real(data).n_minority
    both = np.concatenate([pair.train.X, pair.test.X])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(data.X, axis=0))
    X = data.X.copy()
    X[7, 2] = X[9, 1] = np.nan
    with pytest.raises(ValueError, match=r"w: row 7, column 2 .* is nan.* 2 row"):
        Real(Dataset("w", X, data.minority)).check()
    with pytest.raises(
        ValueError, match="w: a comparison needs at least 2 minority rows and .* got 0"
    ):
        Real(Dataset("w", data.X, np.zeros(len(X), bool))).check()


def test_of_a_large_set_some_rows_train_and_the_whole_half_is_tested():
    data = datasets.embedded("vehicle_van")
    scenario, whole = Real(data, 100), Real(data)
    pair, again, other = scenario.pair(3), scenario.pair(3), scenario.pair(4)
    np.testing.assert_array_equal(pair.test.X, whole.pair(3).test.X)
    np.testing.assert_array_equal(pair.train.X, again.train.X)
    assert not np.array_equal(pair.train.X, other.train.X)
    known = list(map(tuple, np.column_stack([whole.pair(3).train.X, whole.pair(3).train.minority])))
    drawn = list(map(tuple, np.column_stack([pair.train.X, pair.train.minority])))
    assert len(drawn) == 100 and all(drawn.count(row) <= known.count(row) for row in drawn)
    assert pair.train.minority.sum() == round(100 * 99 / 423)
    assert scenario.name == "vehicle_van, 100 training rows"


def test_more_rows_than_asked_for_are_thinned_and_others_left_as_they_are():
    data = [datasets.embedded("wine_cultivar3"), datasets.embedded("vehicle_van")]
    small, large = studies.real_design(data, rows=89)["data set"].values()
    assert (small[0].n_minority, large[0].n_minority) == (24, round(89 * 99 / 423))
    plan = studies.real(data, rows=89)
    names = ["wine_cultivar3", "vehicle_van, 89 training rows"]
    assert all([s.name for s in study.scenarios] == names for study in plan.studies)


@pytest.mark.parametrize(
    "scenario",
    [
        Real(datasets.embedded("vehicle_van"), 50),
        Shape("modes", share=0.07),
        Slides(v=0, n_train=300, n_test=10, share=0.05),
        Shape("modes", share=0.07, mislabelled=0.3),
        Shape("ring", labelled=False),
    ],
)
def test_the_number_of_minority_rows_is_known_before_a_pair_is_drawn(scenario):
    scenario.check()
    assert scenario.pair(1).train.minority.sum() == scenario.n_minority
    assert Slides().n_minority is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shape("star"), "kind must be one of ring"),
        (lambda: Shape("ring", share=0.0), "share must be .* one row or more, got 0"),
        (lambda: Shape("ring", n_train=20, share=0.01), "share must be .* one row or more, got 0"),
        (lambda: Shape("ring", noise=2.0), "noise must be in"),
        (lambda: Shape("ring", mislabelled=1.0), "mislabelled must be in"),
        (lambda: Real(datasets.embedded("yeast_ME2"), 4.5), "a whole number .* got 4.5"),
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


@pytest.mark.parametrize(("rows", "n_train"), [(1000, 20), (7, 7)])
def test_half_of_the_majority_trains_alone(rows, n_train):
    """All other rows test: the other half, and every minority row."""
    X = np.arange(50.0)[:, None]
    scenario = Real(Dataset("d", X, np.arange(50) % 5 == 0), rows, labelled=False)
    assert not scenario.labelled and scenario.n_minority == 0
    pair, other = scenario.pair(3), scenario.pair(4)
    assert len(pair.train.X) == n_train and not pair.train.minority.any()
    assert (len(pair.test.X), int(pair.test.minority.sum())) == (30, 10)
    used = np.concatenate([pair.train.X, pair.test.X])[:, 0]
    assert len(set(used)) == n_train + 30
    assert not np.array_equal(pair.train.X, other.train.X)
    np.testing.assert_array_equal(pair.train.X, scenario.pair(3).train.X)
    study = studies.one_class([scenario.data])
    names = {cell.candidate.name for cell in study.cells()}
    assert {"SVDD", "BDD", "BSVDD", "OCSVM", "kNN", "KDE"} <= names
    assert not names & {"BSVDD-M", "SVM", "LS-SVM"}
