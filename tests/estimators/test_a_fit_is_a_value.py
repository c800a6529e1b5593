"""What a fitted estimator answers never depends on parameters that are set after the fit."""

import numpy as np
import pytest
from bsvdd.estimators import fit
from bsvdd.estimators.registry import ESTIMATORS, REGISTRY

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, Cutoff, cutoffs, kernels, priors
from tests.scores import scores_left_out

QUICK = {"draws": 40, "tune": 60, "chains": 2, "neighbors": 2, "n_estimators": 10}
pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
]

# for each parameter a value that would change the fit, or be an error in one
OTHER = {
    "C": 0.5, "C2": 0.4, "balanced": False, "categorical": (0,), "chains": 3, "count_self": True,
    "cutoff": Cutoff(cutoffs.FalseAlarm(0.3), level=0.7, undecided=(0.1, 0.9)),
    "core": 0.7, "density": "train", "dictionary": 7, "draws": 11, "epsilon": 0.3,
    "estimator": SVDD(),
    "kernel": kernels.RBF(0.3), "likelihood_scale": 50.0, "minor_label": "no label of the fit",
    "minority_fraction": 0.9, "minority_prior": priors.TruncatedNormal(0.5, 0.01),
    "n_estimators": 3, "n_neighbors": 1, "neighbors": 1, "nu": 0.9, "outlier_fraction": 0.9,
    "prior": priors.Flat(50.0), "progressbar": True, "random_state": 9, "sampler": "metropolis",
    "simplex": True, "tune": 5, "views": {"more": lambda rows: rows.iloc[:, 0]},
    "weights": {"columns": 3.0}, "zero_weight": "epsilon",
}  # fmt: skip


def settings(name):
    parameters = ESTIMATORS[name].parameters
    found = {k: v for k, v in QUICK.items() if k in parameters}
    if name == "BSVDD-M":
        found["minority_prior"] = priors.Beta(total=1)
    if name == "Views":
        found["estimator"] = BDD(simplex=True)
    return found


def answers(est, Z, folder):
    """Return all that can be asked of a fit, as arrays and texts."""
    found = {
        "predict": est.predict(Z),
        "score": est.score_samples(Z),
        "P": est.probability_normal(Z),
        "decision": est.decision(Z).to_csv(),
        "training": est.decision().to_csv(),
        "left out": scores_left_out(est),
        "p": bsvdd.p_value(est, Z),
        "split": bsvdd.p_value(est, Z, "split"),
        "selected": bsvdd.select(est, Z, fdr=0.5),
        "kinds": np.asarray(bsvdd.kinds(est, Z)),
        "text": str(est),
        "tree": [str(group) for group in est.idata_.groups],
        "cutoff": [est.cutoff_, est.offset_, str(est.kernel_)],
    }
    if est.fit_.has_center or hasattr(est, "views_"):
        why = bsvdd.explain(est, Z[:2])
        found |= {"why": why.rows.to_csv(), "trained": bsvdd.explain(est, rows=[1]).rows.to_csv()}
    if est.fit_.has_center:
        found["distance"] = est.distance(Z).values
    if est.fit_.learned.posterior is not None:
        found |= {"lambda": est.likelihood_scale_, "summary": est.summary().to_csv()}
        found["model"] = [float(est.model_["likelihood_scale"].get_value())]
        found["log density"] = est.model_.point_logps()
    again = est.with_cutoff(None)
    found |= {"again": again.score_samples(Z), "again cutoff": again.cutoff_}
    path = folder / "model.st"
    est.save(path)
    loaded = bsvdd.load(path)
    found |= {"loaded": loaded.score_samples(Z), "loaded text": str(loaded)}
    return found


def assert_same(before, after, what):
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, after[name], err_msg=f"{what}: {name}")
        else:
            assert value == after[name], f"{what}: {name}"


@pytest.fixture(scope="module")
def known(table, new_rows, tmp_path_factory):
    """Return a function that gives a fitted estimator and its answers."""
    made = {}

    def known(name):
        if name not in made:
            est = ESTIMATORS[name].estimator()(**settings(name)).fit(*table)
            made[name] = est, answers(est, new_rows, tmp_path_factory.mktemp("before"))
        return made[name]

    return known


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_that_are_set_after_the_fit(name, known, new_rows, tmp_path):
    est, before = known(name)
    mine = est.get_params(deep=False)
    assert set(mine) <= set(OTHER)
    for parameter in mine:
        est.set_params(**{parameter: OTHER[parameter]})
    assert_same(before, answers(est, new_rows, tmp_path), "set_params")
    assert repr(est) != repr(type(est)(**mine))  # as in scikit-learn, it shows the parameters
    est.set_params(**mine)
    for parameter in mine:
        setattr(est, parameter, "no value at all")
    assert_same(before, answers(est, new_rows, tmp_path), "assignment")
    est.set_params(**mine)


@pytest.mark.parametrize("parameter", BSVDD().get_params(deep=False))
def test_one_parameter_after_another(parameter, known, new_rows, tmp_path):
    est, before = known("BSVDD")
    mine = est.get_params(deep=False)
    est.set_params(**{parameter: OTHER[parameter]})
    assert_same(before, answers(est, new_rows, tmp_path), parameter)
    est.set_params(**mine)


def test_another_prior_and_the_next_fit(table):
    """``with_prior`` is of the fit, with its parameters; the next fit has the new ones."""
    X, y = table
    est = BSVDD(likelihood_scale=5.0, draws=40, tune=60).fit(X, y)
    expected = est.with_prior(priors.Flat(1.0)).score_samples(X)
    est.set_params(likelihood_scale="calibrated", draws=11, cutoff=cutoffs.FalseAlarm(0.3))
    other = est.with_prior(priors.Flat(1.0))
    np.testing.assert_array_equal(other.score_samples(X), expected)
    assert other.likelihood_scale_ == 5.0 and other.likelihood_scale == 5.0
    beyond = [(scores_left_out(each)[y == 0] < 0).sum() for each in (est, other)]
    assert beyond[0] == beyond[1]  # of the fit, not those of the cutoff set since
    assert other.idata_["posterior"].sizes["draw"] == 40
    assert est.fit(X, y).likelihood_scale_ != 5.0 and "rate of 0.3" in str(est)


@pytest.mark.parametrize("name", REGISTRY)
def test_arguments_that_are_changed_after_the_fit(name, table, new_rows, tmp_path):
    X, y = (each.copy() for each in table)
    est = ESTIMATORS[name].estimator()(**settings(name)).fit(X, y)
    before = answers(est, new_rows, tmp_path)
    X *= 10
    y[:] = 1 - y
    assert_same(before, answers(est, new_rows, tmp_path), "X and y")


def test_the_tree_of_a_fit_is_not_set(known):
    est, _ = known("BSVDD")
    with pytest.raises(
        AttributeError, match=r"idata_ cannot be set; est.with_draws\(draws\) takes"
    ):
        est.idata_ = None


def test_another_cutoff_of_one_table_leaves_the_fit_alone_and_computes_once(monkeypatch):
    """Surprises and cutoff are of the same left-out rows."""
    X = np.random.default_rng(3).normal(size=(80, 2))
    est = BSVDD(core=0.8, draws=60, cutoff=0.9).fit(X)
    assert "surprises" not in vars(est.fit_)
    computed, of_rows = [], fit._of_closed_form
    monkeypatch.setattr(fit, "_of_closed_form", lambda *a: computed.append(1) or of_rows(*a))
    other = est.with_cutoff(cutoffs.FalseAlarm(0.2))
    assert "surprises" not in vars(est.fit_) and len(computed) == 1
    np.testing.assert_array_equal(other.fit_.surprises, est.fit_.surprises)
    assert len(computed) == 2  # of the first fit, which has not known them
    assert other.with_cutoff(cutoffs.FalseAlarm(0.3)).fit_.surprises is other.fit_.surprises
