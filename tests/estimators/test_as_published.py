"""Models as published: each parameter, the sentences of the docstring, errors."""

import inspect

import numpy as np
import pytest
from bsvdd.comparison.run import protocol
from bsvdd.comparison.run.protocol import Candidate
from bsvdd.estimators.as_published import PUBLICATIONS
from bsvdd.estimators.registry import REGISTRY
from scipy.optimize import minimize

from bsvdd import Cutoff, as_published, cutoffs, kernels, priors

TECHNICAL = {"kernel", "minor_label", "random_state", "progressbar"}
quiet = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(2.0, 0.7, size=(10, 2))])
    return X, np.repeat([0, 1], [40, 10])


def test_all_models_but_two_are_published():
    assert [n for n in REGISTRY if n not in ("SVM", "LS-SVM")] == list(PUBLICATIONS)


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_parameter_is_fixed_or_open_and_the_estimator_has_it(name):
    """One estimate has no draws; all other parameters change the result and are told."""
    record, publication = REGISTRY[name], PUBLICATIONS[name]
    assert not set(publication.fixed) & set(publication.open)
    without_draws = {"draws", "tune", "chains"} if name == "BDD" else set()
    rest = set(record.parameters) - set(publication.parameters)
    open_ = TECHNICAL - set(publication.fixed)  # the source of one model fixes its kernel
    assert rest == (open_ | without_draws) & set(record.parameters)
    assert all(choice.words for choice in (publication.fixed | publication.open).values())
    for est in (as_published(name), as_published(record.class_name)):
        assert type(est) is record.estimator() and not hasattr(est, "cutoff_")
        assert {p: getattr(est, p) for p in publication.parameters} == publication.parameters


RANK = Cutoff(cutoffs.Rank(0.9), cv="train", uncertain=False)
OF_SVMS = {"cutoff": cutoffs.Own(), "neighbors": 5, "density": "train"}
OF_BSVDD = {"sampler": "metropolis", "prior": priors.RowSum(exponent=1), "likelihood_scale": 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SVDD", {"cutoff": cutoffs.Own(), "outlier_fraction": 0.1}),
        ("SVDD-M", {"cutoff": cutoffs.Own(), "outlier_fraction": 0.1, "minority_fraction": 0.1}),
        ("OCSVM", {"cutoff": cutoffs.Own(), "nu": 0.1}),
        ("DSVM-CIL", OF_SVMS),
        ("IDLSSVM-CIL", {**OF_SVMS, "epsilon": 0.001}),
        ("BDD", {"sampler": "map", "cutoff": RANK}),
        ("BDD", {"prior": priors.RowSum(exponent=0.5)}),
        ("BSVDD", {**OF_BSVDD, "cutoff": Cutoff(cv="loo", uncertain=False)}),
        ("BSVDD-M", {**OF_BSVDD, "minority_prior": priors.Beta(1, 1, total=None)}),
    ],
)
def test_what_the_sources_say(name, expected):
    """The formulas of the sources, apart from the table, and the docstring names each choice."""
    est = as_published(name)
    assert {parameter: getattr(est, parameter) for parameter in expected} == expected
    table = inspect.getdoc(as_published).partition("The kernel is our choice")[0]
    assert f"\n{name} " in table
    for words in ("nu = .5", "c = .9 n0", "C = 1/(.1 n0)", "C2 = 1/(.1 n1)", "epsilon = .001"):
        assert words in table


@quiet
def test_bdd_is_its_formula(rows):
    """The modes of free weights by the linear system, and of the convex set by another solver.

    The cutoff has nine tenths of the training distances within it.
    """
    X, y = rows
    convex = as_published("BDD").fit(X, y)
    est = as_published("BDD", simplex=False).fit(X, y)
    K = est.gram_.K

    r = K.sum(axis=1)

    def loss(w):
        return 20 * (w @ K @ w) - w @ r + 0.5 * np.sum((w + np.sqrt(r)) ** 2)

    one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    best = minimize(loss, np.full(40, 1 / 40), bounds=[(0, 1)] * 40, constraints=one, tol=1e-14)
    v = convex.idata_["posterior"]["w"].values[0, 0]
    assert v.sum() == pytest.approx(1) and v.min() >= 0
    assert loss(v) == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(v, best.x, atol=1e-4)
    d = np.sort(np.sqrt(1 - 2 * K @ v + v @ K @ v))
    assert convex.cutoff_ == pytest.approx(d[35], rel=1e-6)
    w = np.linalg.solve(40 * K + np.eye(40), r - np.sqrt(r))
    np.testing.assert_allclose(est.idata_["posterior"]["w"].values[0, 0], w, rtol=1e-7)
    d = np.sqrt(1 - 2 * K @ w + w @ K @ w)
    assert est.cutoff_ == pytest.approx(np.sort(d)[35], rel=1e-6)


@pytest.mark.slow
@quiet
def test_metropolis_settles_on_the_posterior():
    """R-hat is shown and small; distances agree with those of another sampler."""
    X = np.random.default_rng(1).normal(size=(25, 2))
    est = as_published("BSVDD").fit(X)
    assert est.idata_["posterior"].attrs["sampler"] == "metropolis"
    assert float(est.idata_["diagnostics"]["r_hat"]) < 1.01
    other = as_published("BSVDD", draws=2000, tune=500).set_params(sampler="hmc").fit(X)
    ours, theirs = (e.distance(X).mean(("chain", "draw")).values for e in (est, other))
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def student(gram, name, dims):
    import pymc as pm

    return pm.StudentT(name, 5, dims=dims)


CHANGES = [
    ("BSVDD", {"sampler": "nuts"}, "random-walk Metropolis"),
    ("BSVDD", {"prior": student}, "beta is normal"),
    ("BSVDD", {"cutoff": 0.5}, "cross-validation"),
    ("BSVDD", {"cutoff": Cutoff(cutoffs.Best("f1"), cv="train")}, "slide 20"),
    ("BSVDD", {"cutoff": Cutoff(level=0.9)}, r"P\(d <= D_opt\) > .5"),
    ("BSVDD", {"dictionary": np.zeros((3, 2))}, "all rows are points"),
    ("BDD", {"prior": priors.RowSum()}, "0 < nu < 1"),
    ("BSVDD", {"cutoff": Cutoff(cv="loo")}, "slide 20"),
    ("BDD", {"cutoff": Cutoff(cutoffs.Best("g_mean"), cv=5)}, "slide 12"),
    ("BDD", {"cutoff": Cutoff(cutoffs.Rank(0.9), cv="train")}, "slide 12"),
    ("BSVDD-M", {"prior": priors.Beta()}, "the mean of BSVDD's beta"),
    ("BSVDD-M", {"minority_prior": priors.Beta(total=1)}, "Beta"),
    ("BDD-M", {"minority_prior": priors.Beta()}, r"MVN\(m1, Sigma1\) on"),
    ("SVDD", {"cutoff": None}, "the boundary is the model's own"),
    ("IDLSSVM-CIL", {"density": "class"}, "whole training set"),
    ("IDLSSVM-CIL", {"kernel": kernels.Linear()}, "an RBF kernel"),
    ("IDLSSVM-CIL", {"kernel": kernels.Tabular(kernels.Linear())}, "an RBF kernel"),
    ("IDLSSVM-CIL", {"balanced": True}, "the size of a class"),
]


@pytest.mark.parametrize(("name", "change", "words"), CHANGES)
def test_a_change_that_the_source_excludes_is_told(name, change, words):
    with pytest.warns(UserWarning, match=f"no longer as published .*{words}"):
        est = as_published(name, **change)
    for parameter, value in change.items():
        assert getattr(est, parameter) is value


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("BSVDD", {"kernel": kernels.Polynomial(2), "draws": 20_000, "chains": 4}),
        ("BSVDD", {"cutoff": Cutoff(cutoffs.Best("f1"), cv=5, uncertain=False)}),
        ("BDD", {"simplex": False}),
        ("BSVDD", {"prior": priors.RowSum(sd=2)}),
        ("BSVDD", {"prior": priors.Normal(m=np.zeros(40))}),
        ("BSVDD-M", {"prior": priors.Flat()}),
        ("BDD", {"prior": priors.RowSum(sd=2, exponent=0.5)}),
        ("IDLSSVM-CIL", {"kernel": kernels.Standardized(kernels.RBF("scale"))}),
        ("IDLSSVM-CIL", {"count_self": True, "zero_weight": "epsilon"}),
        ("BDD", {"cutoff": Cutoff(cutoffs.Rank(7), cv="train", uncertain=False)}),
        ("BDD", {"prior": priors.RowSum(exponent=0.2)}),
        ("BSVDD-M", {"minority_prior": priors.Beta(2, 5)}),
        ("BDD-M", {"cutoff": cutoffs.Best("g_mean"), "prior": priors.Flat()}),
        ("SVDD", {"C": 1.0, "cutoff": cutoffs.Own(), "minor_label": "odd"}),
        ("OCSVM", {"nu": 0.5}),
    ],
)
def test_what_the_source_leaves_open_can_be_changed(name, change, recwarn):
    as_published(name, **change)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("name", "changes", "error", "message"),
    [
        ("BSVD", {}, ValueError, r"unknown model 'BSVD' \(did you mean 'BSVDD'\?\); expected one"),
        ("bdd-m", {}, ValueError, "did you mean 'BDD-M'"),
        ("forest", {}, ValueError, "unknown model 'forest'; expected one of SVDD, BDD"),
        ("SVM", {}, ValueError, r"SVM is here for comparison.* use bsvdd.SVM\(\), or one of SVDD"),
        ("LSSVM", {}, ValueError, "LS-SVM is here for comparison"),
        ("BDD", {"drows": 3}, TypeError, r"no parameter 'drows' \(did you mean 'draws'"),
        ("SVDD", {"nu": 0.1}, TypeError, "SVDD has no parameter 'nu'; expected some of .*kernel"),
    ],
)
def test_bad_names(name, changes, error, message):
    with pytest.raises(error, match=message):
        as_published(name, **changes)


# the study, and a comparison


def test_the_study_keeps_its_candidates():
    """Stored results depend on them, so that what the registry says must not change them."""
    row_sum, one = {"prior": priors.RowSum()}, {"likelihood_scale": 1.0}
    unbounded = {"minority_prior": priors.Beta(), "draws": 300, "tune": 100}
    assert protocol.published() == [
        Candidate("SVDD", "SVDD", {"cutoff": cutoffs.Own()}),
        Candidate("BDD", "BDD", {"prior": priors.RowSum(exponent=0.5), **one}),
        Candidate("BSVDD", "BSVDD", {**row_sum, **one}),
        Candidate("BSVDD-M", "BSVDD-M", {**row_sum, **unbounded}),
    ]


def test_candidates_as_published():
    found = {c.name: c.parameters for c in protocol.as_published()}
    assert list(found) == list(PUBLICATIONS)
    assert found["BDD"] == PUBLICATIONS["BDD"].parameters
    own = protocol.as_published(["BSVDD"], own=["draws"])[0].parameters
    assert "draws" not in own and own["sampler"] == "metropolis"
    est = protocol.Protocol(draws=7).estimator(protocol.as_published(["BSVDD"], ["draws"])[0], 1)
    assert (est.draws, est.tune, est.sampler) == (7, 5000, "metropolis")
    with pytest.raises(ValueError, match="SVM .* leave it out"):
        protocol.as_published(["SVDD", "SVM"])
    with pytest.raises(ValueError, match="unknown model 'nope'"):
        protocol.as_published(["nope"])
