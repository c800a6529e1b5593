"""d_z of new rows and the decision on them, as a group of the tree."""

import arviz as az
import numpy as np
import pandas as pd
import pytest

from bsvdd import BDD, BDDM, BSVDD, SVDD, kernels, load

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
Y = np.repeat([0, 1], [34, 6])
NEW = pd.DataFrame([[0.0, 0.1], [4.0, 4.0], [1.0, -1.0]], ["near", "far", "between"], ["a", "b"])
RBF = kernels.RBF(0.9)


@pytest.fixture(scope="module", params=[SVDD, BDD, BDDM, BSVDD], ids=lambda cls: cls.__name__)
def est(request):
    return request.param(kernel=RBF).fit(X, Y)


def test_predictions_are_distances_and_decisions(est):
    before = list(est.idata_.children)
    tree = est.predict_idata(NEW)
    group = tree["predictions"].dataset
    assert list(tree.children) == [*before, "predictions"]
    assert list(est.idata_.children) == before
    assert group["d"].dims == ("chain", "draw", "obs")
    assert group["obs"].values.tolist() == ["near", "far", "between"]
    np.testing.assert_array_equal(group["d"], est.distance(NEW))
    common = est.distance(NEW, common_norm=True)
    np.testing.assert_allclose(group["d_common_norm"], common, rtol=1e-9)
    decision = est.decision(NEW)
    for name in ("probability_normal", "normal", "score"):
        np.testing.assert_array_equal(group[name], decision[name])
    assert (float(group["cutoff"]), float(group["level"])) == (est.cutoff_, est.level_)
    share = (common <= est.cutoff_).mean(("chain", "draw"))
    np.testing.assert_allclose(group["probability_normal"], share, atol=1e-9)
    assert bool(group["normal"].sel(obs="near")) and not bool(group["normal"].sel(obs="far"))


def test_distances_are_those_of_the_formula():
    """d_z^2 = k(z, z) - 2 sum_j w_j k(u_j, z) + w'Kw, in each draw."""
    est = BDD(kernel=RBF, draws=20).fit(X)
    d = est.predict_idata(NEW)["predictions"]["d"]
    w = est.idata_["posterior"]["w"].values
    points, z = X.to_numpy(), NEW.to_numpy()
    K = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / (2 * 0.9**2))
    k = np.exp(-((points[:, None] - z) ** 2).sum(axis=2) / (2 * 0.9**2))
    d2 = 1 - 2 * w @ k + np.einsum("cdi,ij,cdj->cd", w, K, w)[..., None]
    np.testing.assert_allclose(d, np.sqrt(d2), rtol=1e-9)


def test_arviz_reads_the_group_and_the_draws_have_names():
    est = BDD(kernel=RBF, draws=100).fit(X)
    tree = est.predict_idata(NEW)
    assert len(az.summary(tree, group="predictions", var_names=["d"])) == 3
    for group in ("distance", "log_likelihood", "predictions"):
        for name, n in (("chain", 2), ("draw", 100)):
            np.testing.assert_array_equal(tree[group][name], np.arange(n))
    assert len(az.summary(tree, group="distance")) == 40


@pytest.mark.parametrize(
    ("new", "names"),
    [
        (NEW.to_numpy(), [0, 1, 2]),
        (NEW.reset_index(drop=True).iloc[[2, 2]], [2, 2]),
        (
            NEW.set_axis(pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)])),
            [
                ("x", 1),
                ("x", 2),
                ("y", 1),
            ],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_names_of_the_rows(new, names):
    est = BDD(kernel=RBF, draws=20).fit(X)
    assert est.predict_idata(new)["predictions"]["obs"].values.tolist() == names


def test_a_saved_fit_keeps_names_of_draws_and_predicts(est, tmp_path):
    est.save(tmp_path / "fit.nc")
    again = load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(again.idata_["distance"]["draw"], est.idata_["distance"]["draw"])
    ours, theirs = (e.predict_idata(NEW)["predictions"].dataset for e in (est, again))
    np.testing.assert_array_equal(ours["d"], theirs["d"])


def test_bad_rows():
    est = BDD(kernel=RBF, draws=20).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        est.predict_idata(NEW * np.nan)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="dask collection.*give few rows as an array"):
        est.predict_idata(dask.zeros((4, 2)))
