"""A chain between bounds has an end."""

import numpy as np
import pytest
from bsvdd.models import truncated


def test_a_chain_without_end_is_an_error(monkeypatch):
    monkeypatch.setattr(truncated, "_move", lambda *_: False)
    with pytest.raises(ValueError, match="met the bounds .* 1000000 times.*a smaller likelihood_s"):
        truncated.draw(np.eye(2), np.zeros(2), 5, 5, 1, np.random.default_rng(0))


def test_a_move_stops_after_its_bounces():
    n = 40
    root = np.linalg.cholesky(np.full((n, n), 1.0) + 1e-9 * np.eye(n))
    rng = np.random.default_rng(0)
    x, v = rng.random(n), 1e9 * root @ rng.standard_normal(n)
    assert not truncated._move(x, v, 1.5, np.full(n, 0.5), root @ root.T)
    assert ((x >= 0) & (x <= 1)).all()
