"""The martingale of a stream: by hand, its false alarms, and what it tells."""

from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from bsvdd.estimators import p_values
from bsvdd.estimators.known import Rows
from bsvdd.estimators.questions import stream
from bsvdd.estimators.questions.stream import Monitor
from bsvdd.inference.center import Score

import bsvdd
from bsvdd import SVDD

RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def est():
    return SVDD().fit(np.random.default_rng(2).normal(size=(150, 3)))


class Plain(p_values.Fold):
    """Rows are their scores."""

    def scores(self, rows):
        return np.asarray(rows, dtype=float)


@pytest.fixture
def monitor(monkeypatch):
    """A function that makes monitors of plain scores, by left-out scores and a seed."""

    def make(left_out, seed=0, level=0.01):
        fold = Plain(Score(), np.sort(np.asarray(left_out, dtype=float)), 0.5)
        monkeypatch.setattr(stream, "split", lambda fit: fold)
        monkeypatch.setattr(stream.inputs, "table", lambda data, rows: rows)
        data, new = SimpleNamespace(seed=seed), lambda rows: Rows(rows, np.full(len(rows), -1))
        return Monitor(SimpleNamespace(data=data, asked=new), level)

    return make


def test_by_hand(monitor):
    """Ranks by counting and capitals without logarithms; scores have ties."""
    left_out, rows = RNG.integers(0, 9, 12), RNG.integers(-3, 9, 40)
    found = monitor(left_out, seed=4).update(rows)
    known, u = list(left_out), np.random.default_rng(4).random(40)
    capital, expected = {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}, []
    for s, tie in zip(rows, u, strict=True):
        known.append(s)
        p = (sum(k < s for k in known) + tie * sum(k == s for k in known)) / len(known)
        total = sum(capital.values())
        capital = {
            e: (0.99 * c + 0.01 / 3 * total) * (1 + e * (p - 0.5)) for e, c in capital.items()
        }
        expected.append(sum(capital.values()))
    np.testing.assert_allclose(found, np.log(expected))


@pytest.mark.parametrize("scale", [1.0, 1e6], ids=["many ties", "no ties"])
def test_false_alarms_of_a_thousand_streams(monitor, scale):
    """Any level holds; at .2 the bound is nearly reached, so a wrong rank would break it."""
    strict = loose = 0
    for seed in range(1000):
        rows = (np.random.default_rng([seed, 1]).exponential(size=450) * scale).round()
        found = monitor(rows[:50], seed).update(rows[50:]).max()
        strict, loose = strict + (found >= np.log(100)), loose + (found >= np.log(5))
    assert strict <= 20  # 10 and three of its standard errors
    assert 50 <= loose <= 200


def test_batches_of_any_size_are_one_stream(est):
    Z = RNG.normal(size=(60, 3)) + np.linspace(0, 2, 60)[:, None]
    whole, parts = bsvdd.monitor(est, level=0.2), bsvdd.monitor(est, level=0.2)
    together = whole.update(Z)
    apart = np.concatenate([parts.update(Z[i:j]) for i, j in ((0, 1), (1, 7), (7, 60))])
    np.testing.assert_array_equal(together, apart)
    assert whole.alarm == parts.alarm == int(np.argmax(together >= np.log(5)))
    assert (whole.rows, whole.log_martingale) == (60, together[-1])


def test_a_change_is_told_at_its_row(est):
    monitor, rng = bsvdd.monitor(est), np.random.default_rng(8)
    monitor.update(rng.normal(size=(100, 3)))
    assert monitor.alarm is None and str(monitor).startswith("100 rows: no alarm that they differ")
    assert "alarm at 100, which it reaches in at most 0.01 of streams" in str(monitor)
    monitor.update(rng.normal(size=(100, 3)) + 1.5)
    assert 100 < monitor.alarm < 140
    assert f"they differ from the training rows, told at row {monitor.alarm} (" in str(monitor)
    assert not len(monitor.update(np.empty((0, 3))))
    usual, far = bsvdd.monitor(est), bsvdd.monitor(est)
    usual.update(0.01 * RNG.normal(size=(200, 3)))  # too usual is a change too
    assert usual.alarm is not None
    far.update(np.full((13, 3), 99.0) + RNG.normal(size=(13, 3)))
    assert far.alarm is None  # 14 rows are the fewest
    far.update(np.full((7, 3), 999.0))
    assert far.alarm >= 13
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        bsvdd.monitor(est, level=1.0)


def test_a_batch_with_an_infinite_value_is_an_error_and_not_taken(est):
    monitor, Z = bsvdd.monitor(est), np.zeros((3, 3))
    gap = Z.copy()
    gap[1, 2] = np.inf
    with pytest.raises(ValueError, match="inf"):
        monitor.update(gap)
    with pytest.raises(TypeError, match="give one batch after another"):
        monitor.update(da.from_array(Z))
    np.testing.assert_array_equal(monitor.update(Z), bsvdd.monitor(est).update(Z))
