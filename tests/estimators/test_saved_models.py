"""Models of every kind after saving and loading: the same numbers, and they can go on."""

import numpy as np
import pytest

import bsvdd
from bsvdd import Cutoff, kernels, priors

NAMES = ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.mark.parametrize("name", NAMES)
def test_loaded_estimator_is_the_saved_one(fitted, new_rows, tmp_path, name):
    est = fitted(name)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    assert type(new) is type(est)
    assert new.get_params() == est.get_params()
    assert (new.kernel_, new.cutoff_, new.level_) == (est.kernel_, est.cutoff_, est.level_)
    np.testing.assert_array_equal(
        new.probability_normal(new_rows), est.probability_normal(new_rows)
    )
    np.testing.assert_array_equal(new.score_samples(new_rows), est.score_samples(new_rows))
    np.testing.assert_array_equal(new.predict(new_rows), est.predict(new_rows))
    assert new.distance(new_rows).identical(est.distance(new_rows))
    assert set(new.idata_.children) == set(est.idata_.children)
    assert new.n_features_in_ == est.n_features_in_
    assert [p.name for p in tmp_path.iterdir()] == ["fit.nc"]


@pytest.mark.parametrize("name", NAMES)
def test_loaded_estimator_can_go_on(fitted, new_rows, tmp_path, name):
    est = fitted(name)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    policy = Cutoff("f1", level=0.7)
    assert new.with_cutoff(policy).cutoff_ == est.with_cutoff(policy).cutoff_
    if name in ("BDD", "BSVDD", "BSVDDM"):
        ours, theirs = (e.with_prior(priors.Flat(0.5)) for e in (est, new))
        np.testing.assert_array_equal(ours.distance(new_rows), theirs.distance(new_rows))


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": kernels.RBF("median")},
        {"kernel": kernels.Laplacian(2.0)},
        {"kernel": kernels.Linear(), "prior": priors.Flat(0.3)},
        {"kernel": kernels.Polynomial(3, 0.2, 0.5)},
        {"prior": priors.RowSum(sd=0.4, exponent=0.5), "likelihood_scale": 2.0},
        {"cutoff": 0.8},
        {"cutoff": "f1"},
        {"cutoff": Cutoff("cost", cv="train", level=0.2, miss_cost=4.0)},
        {"minor_label": 1, "random_state": None},
        {"draws": np.int64(50), "random_state": np.random.default_rng(0).integers(9)},
    ],
    ids=repr,
)
def test_parameters_come_back(make, table, new_rows, tmp_path, changes):
    est = make("BDD", **changes).fit(*table)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    assert new.get_params() == est.get_params()
    np.testing.assert_array_equal(
        new.probability_normal(new_rows), est.probability_normal(new_rows)
    )


def test_a_function_is_given_again(make, table, new_rows, tmp_path):
    import pymc as pm

    def prior(gram, name, dims):
        return pm.StudentT(name, 3.0, dims=dims)

    def kernel(A, B):
        return (A @ B.T + 1.0) ** 2

    est = make("BSVDD", prior=prior, kernel=kernel).fit(*table)
    path = tmp_path / "fit.nc"
    est.save(path)
    given = {"prior": prior, "kernel.function": kernel}
    needs = r"fit\.nc was saved with kernel\.function, prior, which are not stored: .* names, .*, "
    for wrong, got in [
        (None, "none"),
        ({}, "none"),
        ({"prior": prior}, r"\['prior'\]"),
        ({"kernel.function": kernel}, r"\['kernel.function'\]"),
        ({"prior": prior, "kernel": kernel}, r"\['kernel', 'prior'\]"),
        ({**given, "cutoff": 1.0}, r"\['cutoff', 'kernel.function', 'prior'\]"),
    ]:
        with pytest.raises(ValueError, match=f"{needs}got {got}$") as caught:
            bsvdd.load(path, wrong)
        assert caught.type is ValueError  # the file is whole
    new = bsvdd.load(path, functions=given)
    assert new.prior is prior
    assert new.kernel == new.kernel_ == kernels.Custom(kernel)
    np.testing.assert_array_equal(
        new.probability_normal(new_rows), est.probability_normal(new_rows)
    )
    new.save(path)  # and it can be saved again
    np.testing.assert_array_equal(
        bsvdd.load(path, given).score_samples(new_rows), est.score_samples(new_rows)
    )


def test_another_cutoff_leaves_the_loaded_estimator_as_it_is(fitted, tmp_path):
    fitted("BSVDD").save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    decision = new.idata_["decision"].to_dataset().copy(deep=True)
    assert new.with_cutoff(0.01).cutoff_ == 0.01
    assert new.cutoff_ == fitted("BSVDD").cutoff_
    assert new.idata_["decision"].to_dataset().identical(decision)
