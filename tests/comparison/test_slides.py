"""The generator of the slides: shares of the classes as published, formulas against quadrature."""

import numpy as np
import pytest
from bsvdd.comparison.scenarios import slides
from bsvdd.comparison.scenarios.slides import Slides
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import roc_auc_score


@pytest.mark.parametrize("s", [1e-9, 0.02, 0.5, 0.999, 1.0, 1.7, 14.0, 300.0])
@pytest.mark.parametrize("m", [-40.0, -3.0, 0.0, 0.3, 5.0])
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


@pytest.mark.parametrize(
    ("v", "share", "near", "far"),
    [(5, 0.433, 0.422, 0.540), (10, 0.452, 0.444, 0.528), (20, 0.466, 0.460, 0.520)],
)
def test_shares_of_the_classes_are_those_of_the_published_table(v, share, near, far):
    """Shares, and their sd over pairs, that accuracy, FPR and FNR of the slides imply."""
    tests = [Slides(v=v, n_train=2).pair(seed).test for seed in range(10)]
    shares = [t.base_rate for t in tests]
    assert np.mean(shares) == pytest.approx(share, abs=0.005)
    assert 0.002 < np.std(shares, ddof=1) < 0.0085  # binomial: .005
    minority = np.concatenate([t.minority for t in tests])
    for component, expected in ((0.0, near), (1.0, far)):
        only = Slides(v=v, n_train=2, n_test=50_000, far=component).pair(3).test
        assert only.base_rate == pytest.approx(expected, abs=0.006)
    assert len(minority) == 100_000


@pytest.mark.parametrize("share", [None, 0.3])
def test_the_component_of_each_row_is_known(share):
    """Means 7 and 10 of the signal, and as many far rows as drawn."""
    pair = Slides(v=5, n_train=3000, n_test=4000, share=share).pair(2)
    for data, far in zip((pair.train, pair.test), pair.far, strict=True):
        signal = data.X[:, :4]
        assert signal[~far].mean() == pytest.approx(7.0, abs=0.06)
        assert signal[far].mean() == pytest.approx(10.0, abs=0.2)
        if share is None:
            assert far.mean() == pytest.approx(0.1, abs=0.02)


def test_one_draw_of_the_coefficients_for_a_data_set_is_another_reading():
    """Its shares differ between pairs by .43 to .47, where the slides have .007."""
    reading = Slides(v=5, n_train=2, n_test=500, coefficients="data set")
    shares = [reading.pair(seed).test.base_rate for seed in range(60)]
    assert 0.38 < np.std(shares, ddof=1) < 0.5


@pytest.mark.parametrize(("v", "auc", "accuracy"), [(5, 0.559, 0.575), (20, 0.529, 0.538)])
def test_the_bayes_ceiling_is_low(v, auc, accuracy):
    pairs = [Slides(v=v, n_train=2, n_test=50_000).pair(seed) for seed in range(2)]
    found = [roc_auc_score(p.test.minority, p.truth) for p in pairs]
    assert np.mean(found) == pytest.approx(auc, abs=0.006)
    right = [np.mean((p.truth > 0.5) == p.test.minority) for p in pairs]
    assert np.mean(right) == pytest.approx(accuracy, abs=0.006)


def test_without_spread_there_is_something_to_find():
    pair = Slides(v=0, n_train=2, n_test=50_000).pair(0)
    test = pair.test
    assert test.base_rate == pytest.approx(0.116, abs=0.005)
    assert roc_auc_score(test.minority, pair.truth) == pytest.approx(0.986, abs=0.003)
    away = np.zeros(50)
    sd = np.ones(50)
    away[:4], sd[:4] = slides.NEAR, np.sqrt(2)
    for columns, expected in ((4, 0.945), (50, 0.820)):
        d = np.linalg.norm(((test.X - away) / sd)[:, :columns], axis=1)
        assert roc_auc_score(test.minority, d) == pytest.approx(expected, abs=0.01)


def test_spread_is_a_variance_or_a_sd():
    assert Slides(v=4).sd == 2
    assert Slides(v=4, spread="sd").sd == 4


@pytest.mark.parametrize("share", [1 / 10, 1 / 20, 1 / 50, 1 / 100])
def test_a_share_that_is_asked_for_is_met_exactly(share):
    pair = Slides(v=0, n_train=500, n_test=1000, share=share).pair(1)
    assert pair.train.minority.sum() == round(500 * share)
    assert pair.test.minority.sum() == round(1000 * share)
    assert pair.truth is None


def test_rows_of_a_controlled_share_are_rows_given_their_class():
    """E[x | y] is the same with and without control."""
    free = Slides(v=0, n_train=2, n_test=60_000, p=4).pair(0).test
    held = Slides(v=0, n_train=2, n_test=60_000, p=4, share=0.4).pair(1).test
    for y in (False, True):
        a, b = (d.X[d.minority == y] for d in (free, held))
        np.testing.assert_allclose(a.mean(axis=0), b.mean(axis=0), atol=0.08)


def test_heavy_tails_keep_mean_and_covariance():
    X = Slides(v=0, n_train=2, n_test=200_000, p=6, far=0.0, df=6.0).pair(0).test.X
    np.testing.assert_allclose(X.mean(axis=0), [7, 7, 7, 7, 0, 0], atol=0.02)
    covariance = np.cov(X, rowvar=False)
    np.testing.assert_allclose(covariance, np.diag([2, 2, 2, 2, 1, 1]), atol=0.05)
    z = (X[:, 4] - X[:, 4].mean()) / X[:, 4].std()
    assert np.mean(np.abs(z) > 4) > 10 * 2 * norm.sf(4)  # P(|t_6| sqrt(4/6) > 4) = .0027
    assert np.mean(z**4) > 4  # 3 (df - 2)/(df - 4) = 6


def test_seeds_reproduce_and_differ_and_the_sets_of_a_pair_are_apart():
    scenario = Slides(n_train=50, n_test=50)
    a, b, c = scenario.pair(1), scenario.pair(1), scenario.pair(2)
    np.testing.assert_array_equal(a.train.X, b.train.X)
    np.testing.assert_array_equal(a.test.minority, b.test.minority)
    assert not np.array_equal(a.train.X, c.train.X)
    assert not np.array_equal(a.train.X, a.test.X)


def test_names_of_readings_differ():
    scenarios = [Slides(), Slides(v=10), Slides(p=100), Slides(share=0.02), Slides(spread="sd")]
    assert len({s.name for s in scenarios}) == len(scenarios)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": -1}, "v must be at least 0"),
        ({"p": 3}, "p must be at least 4"),
        ({"share": 1.0}, "share must be in"),
        ({"coefficients": "row"}, "coefficients must be 'observation'"),
        ({"spread": "precision"}, "'variance' or 'sd'"),
        ({"df": 2}, "df must be above 2"),
    ],
)
def test_options_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Slides(**change)


def test_a_share_that_cannot_be_met_is_said(monkeypatch):
    monkeypatch.setattr(slides, "MOST_DRAWS", 3)
    with pytest.raises(ValueError, match="not met in 3000 draws; one class hardly occurs"):
        Slides(v=0, n_train=1000, far=0.0, share=0.9).pair(0)
