"""Numbers at the edge: each either right, by a closed form, or a clear error."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.warning import DataWarning
from scipy.special import logsumexp

import bsvdd
from bsvdd import OCSVM, cutoffs, kernels, priors
from tests.scores import median_distance, score_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
]

QUICK = dict(draws=40, tune=40, chains=2)
MODELS = {
    "SVDD": lambda **k: bsvdd.SVDD(**k),
    "SVDDM": lambda **k: bsvdd.SVDDM(**k),
    "OCSVM": lambda **k: bsvdd.OCSVM(**k),
    "BDD": lambda **k: bsvdd.BDD(**QUICK, **k),
    "BDD simplex": lambda **k: bsvdd.BDD(simplex=True, **k),
    "BDDM": lambda **k: bsvdd.BDDM(**QUICK, **k),
    "BSVDD": lambda **k: bsvdd.BSVDD(**QUICK, **k),
    "BSVDDM": lambda **k: bsvdd.BSVDDM(minority_prior=priors.Beta(total=1), **QUICK, **k),
}
ON_SIMPLEX = ["SVDD", "SVDDM", "BDD simplex", "BDDM", "BSVDD", "BSVDDM"]  # sum w = 1
REFITTED = ["SVDD", "SVDDM", "OCSVM"]  # models that leave rows out by refits only
each = pytest.mark.parametrize("name", MODELS)

rng = np.random.default_rng(70)
PUBLISHED = {"prior": priors.StandardizedRowSum(), "likelihood_scale": 1.0}
ROWS, MINORITY = rng.normal(size=(20, 2)), rng.normal(2.0, 1.0, size=(4, 2))


def fit(name, majority, minority=MINORITY, **parameters):
    X = np.concatenate([majority, minority])
    y = np.repeat([0, 1], [len(majority), len(minority)])
    est = MODELS[name](**parameters).fit(X, y)
    w = est.idata_["posterior"]["w"].values
    assert np.isfinite(w).all()
    assert np.isfinite(est.cutoff_)
    if name in ON_SIMPLEX:
        np.testing.assert_allclose(w.sum(axis=-1), 1.0, rtol=1e-8)
    return est


def check_scores(est, Z):
    """The distances are those of w, by the formula and nothing else."""
    k, points = est.kernel_, est.gram_.points.rows
    w = est.idata_["posterior"]["w"].values.reshape(-1, len(points))
    p = est.probability_normal(Z)
    assert ((p >= 0) & (p <= 1)).all()
    if isinstance(est, OCSVM):
        f = (k(Z, points) @ w.T)[:, 0] + est.idata_["posterior"].attrs["offset"]
        scale = np.abs(k(Z, points)).max(initial=1.0) * np.abs(w).sum()
        np.testing.assert_allclose(est.fit_.score.values(Z), f, rtol=1e-9, atol=1e-12 * scale)
        return
    K = k(points)
    d2 = k.diag(Z) - 2 * w @ k(points, Z) + np.einsum("dj,jl,dl->d", w, K, w)[:, None]
    rounding = 1e-12 * max(K.max(), k.diag(Z).max()) * max(1.0, np.abs(w).sum(axis=1).max() ** 2)
    d = est.distance(Z).values.reshape(len(w), -1)
    np.testing.assert_allclose(d**2, np.maximum(d2, 0.0), rtol=1e-8, atol=rounding)


WIDE = np.random.default_rng(71)
LINE = np.outer(np.linspace(1.0, 3.0, 20), [1.0, 2.0])
SHAPES = {  # majority and minority rows, and the kernel
    **{f"{n} majority rows": (ROWS[:n], MINORITY, kernels.RBF(1.0)) for n in (1, 2, 3)},
    "more minority rows": (ROWS[:3], WIDE.normal(2.0, 1.0, (15, 2)), kernels.RBF(1.0)),
    "one column": (WIDE.normal(size=(15, 1)), WIDE.normal(1.0, 1.0, (3, 1)), kernels.Tabular()),
    "2,000 columns": (WIDE.normal(size=(15, 2000)), WIDE.normal(size=(3, 2000)), kernels.Tabular()),
    "two values": (WIDE.integers(0, 2, (40, 3)), WIDE.normal(size=(3, 3)), kernels.Tabular()),
    "one row apart": (np.outer(np.arange(20) == 3, [1.0, 2.0]), MINORITY, kernels.Tabular()),
    "rank one": (LINE, MINORITY, kernels.Linear()),
    "a narrow kernel": (ROWS, MINORITY, kernels.RBF(1e-8)),
    "a wide kernel": (ROWS, MINORITY, kernels.RBF(1e8)),
    "rows three times": (np.repeat(ROWS, 3, axis=0), MINORITY, kernels.Linear()),
}


@each
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_any_shape(name, shape):
    majority, minority, kernel = SHAPES[shape]
    # one row cannot be left out by a refit
    changes = {"cutoff": cutoffs.Own()} if len(majority) == 1 and name in REFITTED else {}
    if name.startswith("BSVDD") and isinstance(kernel, kernels.Linear):
        changes["prior"] = priors.StandardizedRowSum()
    est = fit(name, majority, minority, kernel=kernel, **changes)
    n1 = len(minority) if name in ("SVDDM", "BDDM", "BSVDDM") else 0
    grouped = name.startswith(("BDD", "BSVDD"))
    n0 = len(np.unique(majority, axis=0)) if grouped else len(majority)
    assert est.gram_.n_points == n0 + n1
    check_scores(est, np.concatenate([majority[:5] + 0.1, minority[:3]]))
    if "cutoff" in changes:
        with pytest.raises(ValueError, match="cutoff: .* folds need at least 2 majority rows, got"):
            fit(name, majority, kernel=kernel)


def test_rows_far_from_all_rows_are_told_apart():
    """log sum_j w_j k(u_j, z) does not underflow."""
    est, far = fit("SVDD", ROWS, kernel=kernels.RBF(1e-8)), np.array([[50.0, 50.0], [-80.0, 3.0]])
    log_k = -((far[:, None] - est.gram_.points.rows) ** 2).sum(axis=2) / (2 * 1e-8**2)
    value = logsumexp(log_k, b=est.weights_, axis=1)
    np.testing.assert_allclose(
        est.score_samples(far), score_of(est, value[None], log_k.max(1)), rtol=1e-9
    )
    assert est.score_samples(far)[0] != est.score_samples(far)[1]
    np.testing.assert_allclose(est.weights_, 1 / 20, rtol=1e-5)  # all rows are alike


def test_a_precision_that_is_singular_in_doubles():
    message = "posterior precision of BDD is not positive definite in double precision: .*; use a"
    with pytest.raises(ValueError, match=message) as caught:
        fit("BDD", 1e12 * ROWS, 1e12 * MINORITY, kernel=kernels.Linear(), **PUBLISHED)
    assert caught.type is ValueError


@each
@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_values_whose_squares_leave_the_doubles(name, scale):
    message = "gives (0.0|inf|nan) on these 20 majority rows .*too large or small.*; scale the col"
    with pytest.raises(ValueError, match=message):
        fit(name, scale * ROWS, scale * MINORITY, kernel=kernels.RBF())
    if scale > 1:
        with pytest.raises(ValueError, match=r"kernel Linear\(\) returned values that are not fin"):
            fit(name, scale * ROWS, scale * MINORITY, kernel=kernels.Linear())
    elif name != "OCSVM":  # which says that the origin lies among the rows
        with pytest.warns(DataWarning, match="leave few digits to distances of 0"):
            prior = {"prior": priors.StandardizedRowSum()} if name.startswith("BSVDD") else {}
            fit(name, scale * ROWS, 0 * MINORITY, kernel=kernels.Linear(), **prior)


@each
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_majority_rows_equal(name, value):
    """K = 11': every w of sum one has the same centre, that row."""
    equal = np.full((20, 2), value)
    with pytest.warns(DataWarning, match="all 20 majority rows are equal"):
        est = fit(name, equal, kernel=kernels.RBF(1.0))
    check_scores(est, ROWS)
    if name in ("SVDD", "BDD simplex", "BSVDD"):
        log_k = -((ROWS - value) ** 2).sum(axis=1) / 2
        expected = np.sqrt(2.0 - 2.0 * np.exp(log_k))
        np.testing.assert_allclose(median_distance(est, ROWS), expected, atol=1e-6)
        expected = score_of(est, log_k[None], log_k)
        np.testing.assert_allclose(est.score_samples(ROWS), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        *(("BSVDD", 1e16), ("BSVDDM", 1e20)),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in (("BSVDD", 1e20), ("BSVDDM", 1e16))
        ),
    ],
)
def test_a_likelihood_that_hides_the_prior_is_fitted_to_its_mode(name, scale):
    """The mode of BSVDD is the mean of the rows in kernel space: equal weights."""
    est = fit(name, ROWS, likelihood_scale=scale, kernel=kernels.RBF(1.0))
    w = est.fit_.learned.draws.w
    assert np.isfinite(w).all()
    if name == "BSVDD":
        np.testing.assert_allclose(w, 1 / 20, atol=1e-5)


@pytest.mark.parametrize("sd", [1e-300, 1e-307, 1e-310, 1e-320])
def test_a_column_of_denormal_numbers_is_as_in_another_unit(sd):
    """Up to the digits that denormal numbers have."""
    X, Z = ROWS * [1.0, 2.0**10], rng.normal(size=(30, 2)) * [1.0, 2.0**10]
    small = [1.0, sd / 2.0**10]
    usual = bsvdd.SVDD().fit(X).score_samples(Z)
    found = bsvdd.SVDD().fit(X * small).score_samples(Z * small)
    np.testing.assert_allclose(found, usual, rtol=5e-3 if sd == 1e-320 else 1e-6, atol=1e-6)
    assert (bsvdd.SVDD().fit(X * small).predict([[0.0, 1.0], [0.0, -1e300]]) == -1).all()


LABELS = {
    "0, 1, ...": [0, 1, 2],
    "other numbers": [2019, 2020, 2021],
    "in another order": [2, 0, 1],
    "two levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    "mixed": ["a", 1, 2.5],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_columns_are_matched_by_names_of_any_kind(labels, tmp_path):
    X = pd.DataFrame(rng.normal(size=(30, 3)) * [1.0, 5.0, 20.0], columns=labels)
    est = bsvdd.SVDD().fit(X)
    est.save(tmp_path / "fit")
    for each in (est, bsvdd.load(tmp_path / "fit")):
        for order in ([2, 1, 0], [1, 2, 0]):
            np.testing.assert_array_equal(
                each.score_samples(X.iloc[:, order]), est.score_samples(X)
            )
    if labels is LABELS["other numbers"]:
        found = (bsvdd.given(est, X, column) for column in (2020, "2020", 1))
        assert len({tuple(p) for p in found}) == 1


def test_columns_of_objects_are_named():
    X = pd.DataFrame({"a": np.arange(20.0), "b": [{"x": 1}] * 20, "c": [[1, 2]] * 20})
    with pytest.raises(TypeError, match=r"columns 'b', 'c' have objects \(dict, list\): make"):
        bsvdd.SVDD().fit(X)
