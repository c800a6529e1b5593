"""What must not change a decision, and what must change it in a known way: property tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsvdd import BDD, OCSVM, SVDD, SVDDM, cutoffs, kernels, priors
from tests.scores import median_distance, values_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
]

SEEDS = st.integers(0, 2**20)
NEW = np.random.default_rng(80).normal(size=(12, 2)) * 1.5
some = settings(max_examples=15)

ONE_ESTIMATE = {  # models whose answer is one point, so that it can be compared
    "SVDD": lambda **k: SVDD(**k),
    "SVDDM": lambda **k: SVDDM(**k),
    "OCSVM": lambda **k: OCSVM(**k),
    "BDD simplex": lambda **k: BDD(simplex=True, **k),
}
each = pytest.mark.parametrize("name", ONE_ESTIMATE)


@pytest.fixture(scope="module", autouse=True)
def imported():
    """What is imported on first use changes the recursion limit, which hypothesis watches."""
    BDD(draws=10).fit(rows(0)[0])


def rows(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(14, 2)), rng.normal(1.5, 1.0, size=(4, 2))])
    return X, np.repeat([0, 1], [14, 4])


def fit(name, X, y=None, **parameters):
    return ONE_ESTIMATE[name](**{"kernel": kernels.RBF(1.2), **parameters}).fit(X, y)


def same_decisions(one, other, z_one=NEW, z_other=NEW, tolerance=1e-5, same_norm=True):
    """Same distances, cutoffs and decisions; a row on the boundary itself may fall either way.

    The scores are the same too, but where k(z, z) is not 1 and the centre has another norm: then
    their differences are the same, those of squared distances.
    """
    a, b = median_distance(one, z_one), median_distance(other, z_other)
    np.testing.assert_allclose(a, b, atol=tolerance)
    np.testing.assert_allclose(one.cutoff_, other.cutoff_, atol=tolerance)
    if same_norm:
        ours, theirs = one.score_samples(z_one), other.score_samples(z_other)
        np.testing.assert_allclose(ours, theirs, atol=tolerance)
    else:
        ours, theirs = one.decision_function(z_one), other.decision_function(z_other)
        squared = 4 * max(a.max(), one.cutoff_) * tolerance
        np.testing.assert_allclose(ours, theirs, atol=squared)
    clear = np.abs(a - one.cutoff_) > 2 * tolerance
    np.testing.assert_array_equal(one.predict(z_one)[clear], other.predict(z_other)[clear])


@each
@some
@given(SEEDS)
def test_the_order_of_rows_says_nothing(name, seed):
    """The likelihood is a sum over rows: a permutation permutes w and changes no distance.

    Folds are of other rows in another order, so the cutoff here is one without them.
    """
    X, y = rows(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    cutoff = None if name == "BDD simplex" else cutoffs.Own()
    one, other = fit(name, X, y, cutoff=cutoff), fit(name, X[order], y[order], cutoff=cutoff)
    same_decisions(one, other)


@each
@some
@given(SEEDS, st.floats(-50.0, 50.0), st.floats(0.01, 100.0))
def test_units_say_nothing_to_a_kernel_of_distances(name, seed, shift, scale):
    """k depends on ||x - y|| / s: with c X + b, c Z + b and c s all values stay."""
    X, y = rows(seed)
    moved = fit(name, scale * X + shift, y, kernel=kernels.RBF(1.2 * scale))
    same_decisions(fit(name, X, y), moved, z_other=scale * NEW + shift)


@pytest.mark.parametrize("name", ["SVDD", "SVDDM", "BDD simplex"])
@some
@given(SEEDS, st.floats(-5.0, 5.0))
def test_a_shift_says_nothing_to_the_distances_of_a_linear_kernel(name, seed, shift):
    """With sum w = 1, d_z = ||z - sum w x||, which a translation of all rows leaves.

    The prior of BDD depends on the row sums of K, which do change, so it is flat here.
    """
    X, y = rows(seed)
    how = {"kernel": kernels.Linear(), "cutoff": 1.5}  # rows left out depend on w, of which
    if name == "BDD simplex":  # there are many for one centre
        how["prior"] = priors.Flat(1e4)
    one, other = fit(name, X, y, **how), fit(name, X + shift, y, **how)
    same_decisions(one, other, z_other=NEW + shift, tolerance=2e-3, same_norm=False)


@some
@given(SEEDS, st.integers(2, 4))
def test_rows_given_twice_weigh_as_much_as_once_with_twice_the_bound(seed, times):
    """SVDD with each row k times and the bound C/k has the same ball: weights of copies add up.

    The bound of OCSVM, 1/(nu n), is divided by k as it is.
    """
    X, _ = rows(seed)
    one, other = (fit("OCSVM", np.repeat(X, k, axis=0), nu=0.3) for k in (1, times))
    np.testing.assert_allclose(values_of(other, NEW), values_of(one, NEW), atol=1e-4)
    one = fit("SVDD", X, C=0.2)
    other = fit("SVDD", np.repeat(X, times, axis=0), C=0.2 / times)
    assert other.radius_ == pytest.approx(one.radius_, abs=1e-4)
    np.testing.assert_allclose(values_of(other, NEW), values_of(one, NEW), atol=1e-4)


@some
@given(SEEDS, st.floats(0.0, 20.0))
def test_a_constant_added_to_the_kernel_says_nothing_where_weights_sum_to_one(seed, c):
    """With sum w = 1: k(z,z) + c - 2 (sum w k + c) + (w'Kw + c) = d_z^2, whatever c is."""
    X, _ = rows(seed)
    kernel = kernels.RBF(1.2)
    K, diagonal = kernel(X), np.ones(len(NEW))
    new = np.column_stack([kernel(NEW, X), diagonal])
    for name, how in (("SVDD", {"C": 0.3}), ("BDD simplex", {"prior": priors.Flat(0.5)})):
        how["kernel"] = kernels.Precomputed()
        one, other = fit(name, K, **how), fit(name, K + c, **how)
        same_decisions(one, other, new, new + c, 1e-4, same_norm=False)


@some
@given(SEEDS)
def test_draws_of_one_seed_are_the_same_in_other_units(seed):
    """The posterior of BDD depends on K alone, so its draws do not see the units."""
    X, y = rows(seed)
    how = dict(draws=30, tune=0, random_state=seed)
    one = BDD(kernel=kernels.RBF(1.2), **how).fit(X, y)
    other = BDD(kernel=kernels.RBF(12.0), **how).fit(10.0 * X + 3.0, y)
    np.testing.assert_allclose(one.distance(NEW), other.distance(10.0 * NEW + 3.0), atol=1e-7)
