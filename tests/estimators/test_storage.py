"""Saving and loading: all or nothing, bit for bit, and clear about what is no such file."""

import json
import os
import re

import h5netcdf.legacyapi  # noqa: F401 the engine of saved files must be there
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bsvdd.estimators.storage.container import UnreadableFileError, seal

import bsvdd
from bsvdd import SVDD, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


def test_precomputed_and_column_names(make, fitted, table, new_rows, tmp_path):
    X, y = table
    kernel = kernels.RBF(1.5)
    given = make("SVDD", kernel=kernels.Precomputed(diagonal=1.0)).fit(kernel(X), y)
    given.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(
        new.score_samples(kernel(new_rows, X)), given.score_samples(kernel(new_rows, X))
    )
    framed = make("SVDD").fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    framed.save(tmp_path / "framed.nc")
    new = bsvdd.load(tmp_path / "framed.nc")
    np.testing.assert_array_equal(new.feature_names_in_, ["a", "b", "c"])
    with pytest.raises(ValueError, match="feature names"):
        new.predict(pd.DataFrame(new_rows, columns=["c", "b", "a"]))


def cauchy(A, B):
    return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))


@pytest.mark.parametrize(
    ("kernel", "hole"),
    [
        (cauchy, "kernel.function"),
        (kernels.Custom(cauchy), "kernel.function"),
        (kernels.Standardized(cauchy), "kernel.kernel.function"),
        (kernels.Standardized(kernels.Custom(cauchy)), "kernel.kernel.function"),
    ],
    ids=["function", "custom", "standardized function", "standardized custom"],
)
def test_the_place_of_a_function_is_its_name(make, table, new_rows, tmp_path, kernel, hole):
    path = tmp_path / "fit.nc"
    est = make("SVDD", kernel=kernel).fit(*table)
    est.save(path)
    with pytest.raises(ValueError, match=rf"was saved with {re.escape(hole)}, which are not"):
        bsvdd.load(path)
    new = bsvdd.load(path, {hole: cauchy})
    assert (new.kernel_, new.cutoff_) == (est.kernel_, est.cutoff_)
    np.testing.assert_array_equal(new.score_samples(new_rows), est.score_samples(new_rows))


def test_a_file_without_functions_takes_none(fitted, tmp_path):
    fitted("SVDD").save(tmp_path / "fit.nc")
    message = r"saved with no functions, which are not stored: .* got \['prior'\]"
    with pytest.raises(ValueError, match=message):
        bsvdd.load(tmp_path / "fit.nc", {"prior": priors.Flat()})


def test_a_random_state_cannot_be_saved(make, table, tmp_path):
    est = make("SVDD", random_state=np.random.RandomState(0)).fit(*table)
    with pytest.raises(TypeError, match=r"random_state=.* cannot be saved; expected a number"):
        est.save(tmp_path / "fit.nc")
    assert not list(tmp_path.iterdir())


def test_an_unfitted_estimator_cannot_be_saved(make, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        make("SVDD").save(tmp_path / "fit.nc")


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        bsvdd.load(tmp_path / "no.nc")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_truncated_file(fitted, tmp_path, share):
    path = tmp_path / "fit.nc"
    fitted("SVDD").save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UnreadableFileError, match=r"fit\.nc is no saved bsvdd estimator"):
        bsvdd.load(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "other.nc"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UnreadableFileError, match=r"other\.nc is no saved bsvdd estimator"):
        bsvdd.load(path)
    other = xr.DataTree.from_dict({"a": xr.Dataset({"x": ("row", np.arange(3.0))})})
    other.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(UnreadableFileError, match=r"other\.nc is no saved bsvdd estimator"):
        bsvdd.load(path)
    seal(path)
    with pytest.raises(UnreadableFileError, match=r"other\.nc is damaged: .*bsvdd"):
        bsvdd.load(path)


def rewrite(path, change):
    """Change the header of a saved file."""
    tree = xr.open_datatree(path, engine="h5netcdf").load()
    tree.close()
    header = json.loads(tree.attrs["bsvdd"])
    change(header, tree)
    tree.attrs["bsvdd"] = json.dumps(header)
    os.unlink(path)
    tree.to_netcdf(path, engine="h5netcdf")
    seal(path)


def other_weights(tree):
    """A posterior of one point less than the file has rows."""
    return xr.DataTree(tree["posterior"].to_dataset().isel(point=slice(1, None)))


@pytest.mark.parametrize("header", ["[]", "null", "3", '{"format"', '{"format": null}'])
def test_headers_that_are_none(fitted, tmp_path, header):
    path = tmp_path / "fit.nc"
    fitted("SVDD").save(path)
    tree = xr.open_datatree(path, engine="h5netcdf").load()
    tree.close()
    tree.attrs["bsvdd"] = header
    os.unlink(path)
    tree.to_netcdf(path, engine="h5netcdf")
    seal(path)
    with pytest.raises(UnreadableFileError, match=r"fit\.nc is damaged: "):
        bsvdd.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, t: h.update(more=1), "fit.nc is damaged: expected a header of estimator, "),
        (lambda h, t: h.update(estimator="Exec"), "unknown estimator 'Exec'"),
        (lambda h, t: h["kernel"].update(type="os.system"), "fit.nc is damaged: .*os.system"),
        (
            lambda h, t: h["kernel"]["fields"].update(x=1),
            "fit.nc is damaged: .*unexpected keyword argument 'x'",
        ),
        (lambda h, t: h.pop("estimator"), "fit.nc"),
        (lambda h, t: h.pop("parameters"), "fit.nc"),
        (lambda h, t: h["parameters"].update(unknown=1), "fit.nc"),
        (lambda h, t: t.__delitem__("posterior"), "fit.nc"),
        (lambda h, t: t.__delitem__("decision"), "fit.nc"),
        (lambda h, t: t.__delitem__("constant_data"), "fit.nc is damaged"),
        (lambda h, t: h["parameters"].pop("C"), "fit.nc is damaged: parameters: missing .*: C"),
        (lambda h, t: h.pop("seed"), "fit.nc is damaged"),
        (lambda h, t: h.pop("features"), "fit.nc is damaged"),
        (lambda h, t: h.update(kernel=None), "fit.nc is damaged"),
        (lambda h, t: h.update(kernel={"type": "function"}), "fit.nc is damaged"),
        (lambda h, t: h.update(kernel={"type": "function", "name": [1]}), "fit.nc is damaged"),
        (lambda h, t: h.update(parameters=[1]), "fit.nc is damaged"),
        (lambda h, t: h.update(seed="x"), "fit.nc is damaged"),
        (lambda h, t: h["parameters"].update(outlier_fraction=-1), "fit.nc is damaged"),
        (lambda h, t: h["kernel"]["fields"].update(bandwidth="silverman"), "fit.nc is damaged"),
        (lambda h, t: t.update({"posterior": other_weights(t)}), "fit.nc is damaged"),
    ],
    ids=[
        "unknown key",
        "estimator",
        "type",
        "field",
        "no estimator",
        "no parameters",
        "unknown parameter",
        "no posterior",
        "no decision",
        "no rows",
        "lost parameter",
        "no seed",
        "no features",
        "no kernel",
        "function without a name",
        "function with a list for a name",
        "no dict of parameters",
        "no number for a seed",
        "parameter out of bounds",
        "bandwidth",
        "number of weights",
    ],
)
def test_damaged_header_or_groups(fitted, tmp_path, change, message):
    path = tmp_path / "fit.nc"
    fitted("SVDD").save(path)
    rewrite(path, change)
    with pytest.raises(UnreadableFileError, match=message):
        bsvdd.load(path)


@pytest.mark.parametrize("where", ["replace", "write"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    fitted, monkeypatch, tmp_path, new_rows, where
):
    path = tmp_path / "fit.nc"
    fitted("SVDD").save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    if where == "replace":
        monkeypatch.setattr(os, "replace", fail)
    else:
        monkeypatch.setattr(xr.DataTree, "to_netcdf", fail)
    with pytest.raises(KeyboardInterrupt):
        fitted("SVDD").save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["fit.nc"]
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_saved_file_has_the_permissions_of_any_new_file(fitted, tmp_path):
    before = os.umask(0o022)
    try:
        (tmp_path / "plain").write_text("")
        fitted("SVDD").save(tmp_path / "fit.nc")
    finally:
        os.umask(before)
    assert (tmp_path / "fit.nc").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path, rows = tmp_path / "model.nc", np.random.default_rng(90).normal(size=(30, 2))
    est = SVDD().fit(rows)
    est.save(path)
    path.chmod(0o600)
    est.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "model.nc", tmp_path / "latest.nc"
    link.symlink_to(target)
    est = SVDD().fit(np.random.default_rng(91).normal(size=(30, 2)))
    est.save(link)
    assert link.is_symlink()
    assert bsvdd.load(target).cutoff_ == est.cutoff_
    assert list(tmp_path.glob("store/.*.part")) == []
