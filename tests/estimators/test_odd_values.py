"""Values that look like numbers, arrays or scales and are none."""

import time

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bsvdd.models import truncated_normal

from bsvdd import BDD, BDDM, SVDD, kernels

X = np.random.default_rng(5).normal(size=(20, 2))
DATE, SPAN = np.datetime64("2020-01-01"), np.timedelta64(3, "D")


def with_objects(value):
    rows = X.astype(object)
    rows[3, 1] = value
    return rows


@pytest.mark.parametrize("value", [DATE, SPAN], ids=["date", "span"])
@pytest.mark.parametrize(
    "form",
    [
        with_objects,
        lambda value: pd.DataFrame(with_objects(value), columns=["a", "a"]),
        lambda value: with_objects(value).tolist(),
        lambda value: [[value, value]] * 20,
        lambda value: np.full((20, 2), value),
    ],
    ids=["objects", "frame", "list", "list of dates", "array"],
)
def test_dates_are_no_numbers(value, form):
    kind = type(value).__name__
    with pytest.raises(TypeError, match=rf"X must be numbers, got {kind}.*days since the first"):
        SVDD(cutoff=1.0).fit(form(value))
    with pytest.raises(TypeError, match=rf"X must be numbers, got {kind}"):
        SVDD(cutoff=1.0).fit(X).predict(form(value))


def test_numbers_among_objects_are_numbers():
    fits = [SVDD(cutoff=1.0).fit(rows) for rows in (X, X.astype(object), X.tolist())]
    for est in fits[1:]:
        np.testing.assert_array_equal(est.decision_function(X), fits[0].decision_function(X))


def test_an_array_of_xarray_is_an_array():
    rows = xr.DataArray(X, dims=("row", "column"))
    est, same = BDD().fit(X), BDD().fit(rows)
    np.testing.assert_array_equal(est.probability_normal(X), same.probability_normal(rows))
    np.testing.assert_array_equal(est.select(X), same.select(rows))


def test_an_array_of_xarray_over_dask_says_what_to_give():
    with pytest.raises(TypeError, match=r"got <class 'xarray.*an xarray object by \.data"):
        BDD(draws=20, dictionary=5).fit(xr.DataArray(da.from_array(X)))


def test_a_likelihood_scale_without_digits_is_refused_at_once():
    y = np.repeat([0, 1], [15, 5])
    start = time.monotonic()
    for scale in (1e300, np.inf):
        with pytest.raises(ValueError, match=r"likelihood_scale.*range \(0\.0, 1e\+20\]"):
            BDDM(likelihood_scale=scale).fit(X, y)
    assert time.monotonic() - start < 5


def test_a_chain_without_end_is_an_error(monkeypatch):
    monkeypatch.setattr(truncated_normal, "_move", lambda *_: False)
    with pytest.raises(ValueError, match="met the bounds .* 1000000 times.*a smaller likelihood_s"):
        truncated_normal.draw(np.eye(2), np.zeros(2), 5, 5, 1, np.random.default_rng(0))


def test_a_move_stops_after_its_bounces():
    n = 40
    root = np.linalg.cholesky(np.full((n, n), 1.0) + 1e-9 * np.eye(n))
    rng = np.random.default_rng(0)
    x, v = rng.random(n), 1e9 * root @ rng.standard_normal(n)
    assert not truncated_normal._move(x, v, 1.5, np.full(n, 0.5), root @ root.T)
    assert ((x >= 0) & (x <= 1)).all()


def test_the_kernel_of_a_fit_is_not_checked_twice(monkeypatch):
    calls = []

    def cauchy(A, B):
        calls.append(len(A))
        return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))

    SVDD(kernel=kernels.Custom(cauchy), cutoff=1.0).fit(X)
    assert calls.count(10) == 1  # half of the rows, in the check only
