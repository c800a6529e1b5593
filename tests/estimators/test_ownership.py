"""What a fit holds is its own: changing the arguments afterwards changes no later result."""

import numpy as np
import pandas as pd
import preliz
import pymc as pm
import pytest
from bsvdd.estimators.registry import REGISTRY

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, LSSVM, SVDD, Cutoff, cutoffs, priors
from tests.scores import scores_left_out

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
QUICK = {"draws": 40, "tune": 40}


def results(est, Z, tmp_path):
    """Return what can still be asked of a fitted estimator, also by fits to its rows."""
    path = tmp_path / f"{np.random.default_rng().integers(1 << 40)}.nc"
    est.save(path)
    loaded = bsvdd.load(path)
    numbers = {
        "score": est.score_samples(Z),
        "probability": est.probability_normal(Z),
        "loaded": loaded.score_samples(Z),
        "rows": loaded.idata_["constant_data"]["X"].values,
        "folds": np.array(est.with_cutoff(Cutoff(cutoffs.Best("g_mean"), cv=3)).cutoff_),
        "cutoff": np.array(est.with_cutoff(Cutoff(cutoffs.Best("f1"), cv="train")).cutoff_),
    }
    if hasattr(est, "with_prior"):
        numbers["split"] = bsvdd.p_value(est, Z, "split")  # fits to a part choose points anew
        other = est.with_prior(priors.Flat(0.8))
        numbers |= {"prior": other.score_samples(Z), "summary": est.summary().to_numpy()}
    return numbers


def assert_same(before, after):
    assert before.keys() == after.keys()
    for name, values in before.items():
        np.testing.assert_array_equal(values, after[name], err_msg=name)


@pytest.mark.parametrize("name", REGISTRY)
def test_rows_and_labels(name, table, new_rows, tmp_path):
    X, y = (each.copy() for each in table)
    cls = REGISTRY[name].estimator()
    settings = {**QUICK, "neighbors": 2}
    est = cls(**{k: v for k, v in settings.items() if k in REGISTRY[name].parameters})
    if name == "BSVDD-M":
        est.set_params(minority_prior=priors.Beta(total=1))
    est.fit(X, y)
    before = results(est, new_rows, tmp_path)
    X *= 10
    y[:] = 1 - y
    assert_same(before, results(est, new_rows, tmp_path))


def parameters_with_arrays(table):
    """Return estimators, and functions that change the arrays of their parameters."""
    points, as_list = table[0][:8].copy(), table[0][:8].tolist()
    m, sigma, mean = np.linspace(-1, 1, 24), np.eye(24), np.full(6, 0.1)
    own = {
        "prior": priors.Normal(m=m, sigma=sigma),
        "minority_prior": priors.TruncatedNormal(mean=mean),
    }
    return {
        "points": (BDD(dictionary=points, **QUICK), lambda: points.fill(3.0)),
        "a list": (BDD(dictionary=as_list, **QUICK), lambda: as_list[0].__setitem__(0, 3.0)),
        "priors": (BSVDDM(**own, **QUICK), lambda: [a.fill(0.6) for a in (m, sigma, mean)]),
    }


@pytest.mark.parametrize("which", ["points", "a list", "priors"])
def test_arrays_of_parameters(which, table, new_rows, tmp_path):
    est, change = parameters_with_arrays(table)[which]
    est.fit(*table)
    before = results(est, new_rows, tmp_path)
    change()
    assert_same(before, results(est, new_rows, tmp_path))


class Wide:
    """A kernel as an object, with an array that can be changed."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, A, B):
        return np.exp(-np.square((A[:, None] - B) / self.scale).sum(axis=-1))


class Vague:
    """A prior as an object, with a dictionary that can be changed."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __call__(self, gram, name, dims):
        return pm.Normal(name, 0.0, self.numbers["sd"], dims=dims)


def of_objects(est, Z):
    """Return what can be asked of a fit with objects, which a file does not hold."""
    logp = est.model_.compile_logp(mode="FAST_COMPILE")  # one call: no machine code
    return {
        "score": est.score_samples(Z),
        "folds": np.array(est.with_cutoff(Cutoff(cutoffs.FalseAlarm(), cv=3)).cutoff_),
        "prior": np.array(logp(est.model_.initial_point())),
    }


def test_a_kernel_and_a_prior_as_objects(table, new_rows):
    scale, numbers = np.ones(3), {"sd": 1.0}
    distribution = preliz.Normal(0.0, 1.0)
    est = BSVDD(kernel=Wide(scale), prior=Vague(numbers), **QUICK).fit(*table)
    fits = est, est.with_prior(distribution)
    before = [of_objects(each, new_rows) for each in fits]
    scale *= 3
    numbers["sd"] = 9.0
    distribution._update(0.0, 9.0)  # as preliz.maxent does
    for each, known in zip(fits, before, strict=True):
        assert_same(known, of_objects(each, new_rows))


def test_labels_streams_and_scores(table, new_rows):
    X, minority = table
    y, labels = np.where(minority, np.resize(["b", "c"], len(X)), "a"), ["b", "c"]
    est = LSSVM(minor_label=labels).fit(X, y)
    labels[:] = ["a"]
    assert est.fit_.spec.parameters["minor_label"] == ["b", "c"]
    stream = np.random.RandomState(0)  # a shared stream stays shared
    fit = BDD(random_state=stream, **QUICK).fit(*table).fit_
    assert fit.spec.parameters["random_state"] is stream
    before, scores = bsvdd.p_value(est, new_rows), scores_left_out(est)
    scores *= -1
    np.testing.assert_array_equal(bsvdd.p_value(est, new_rows), before)


def test_a_refused_refit_leaves_the_fit_as_it_was(table, new_rows, tmp_path):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"])
    est = SVDD().fit(frame)
    new = pd.DataFrame(new_rows, columns=["a", "b", "c"])
    before = est.predict(new)
    bad = frame[["c", "b", "a"]].copy()
    bad.iloc[3, 1] = np.inf
    with pytest.raises(ValueError, match="inf"):
        est.fit(bad)
    assert list(est.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(est.predict(new), before)
    with pytest.raises(TypeError, match="cutoff must be"):
        est.set_params(cutoff="nothing").fit(bad.replace(np.inf, 0.0))
    np.testing.assert_array_equal(est.predict(new), before)
