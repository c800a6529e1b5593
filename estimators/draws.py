"""Draws that no fit makes: a user's own (``est.with_draws(draws)``), and those of the prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from sklearn.base import clone

from ..inference import sampling, threads
from ..inference.cutoffs import FalseAlarm
from ..inference.fit import Fit, Learned
from ..inference.learners import Posterior, centre_of, of_draws
from ..inference.sampling import Draws
from ..models.data import Data
from ..models.kernels import as_kernel
from .description import Description, seed_of
from .fitted import PRIOR_DRAWS, Fitted
from .messages import quoted
from .training import Training

SAMPLE = "chain", "draw"
SUM = 1e-6  # of weights that sum to one, but for rounding


def fitted(known: Fitted, draws: Any) -> Fitted:
    """Return a fit with draws of the user; see ``est.with_draws``.

    Raises
    ------
    ValueError, TypeError
        Draws that cannot be; the message says what was expected.
    """
    w, stats = read(draws, len(known.gram.K))
    _require_weights(w, known)
    learned = of_draws(known.data, Draws(w, stats), known.learned.scale)
    return replace(known, fit=known.fit.with_learned(learned), seconds=np.nan)


def read(draws: Any, points: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return weights (chains, draws, points), and what a sampler says of each draw."""
    stats: dict[str, np.ndarray] = {}
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise ValueError(
                f"draws: expected a DataTree with the group posterior, got {quoted(draws.children)}"
            )
        if "sample_stats" in draws.children and "diverging" in draws["sample_stats"]:
            stats = {"diverging": np.asarray(draws["sample_stats"]["diverging"])}
        draws = draws["posterior"].dataset
    if isinstance(draws, xr.Dataset):
        if "w" not in draws:
            raise ValueError(
                f"draws: expected the weights w, got {quoted(draws.data_vars)}; est.model_ has them"
            )
        draws = draws["w"]
    if isinstance(draws, xr.DataArray):
        return _of_array(_ordered(draws, points), points), stats
    return _of_array(draws, points), stats


def _ordered(draws: Any, points: int) -> Any:
    """Return draws of dims (chain, draw, point), their points in the order of the fit."""
    if "draw" not in draws.dims or draws.ndim != 2 + ("chain" in draws.dims):
        raise ValueError(f"draws: expected the dims chain, draw and point, got {draws.dims}")
    if "chain" not in draws.dims:
        draws = draws.expand_dims("chain")
    draws = draws.transpose(*SAMPLE, ...)
    dim = draws.dims[2]
    if draws.sizes[dim] == points and dim in draws.coords:
        own = draws[dim].values.tolist()
        if set(own) != set(range(points)):
            raise ValueError(
                f"draws: the coordinate {dim!r} names other points than the fit, which has 0 to "
                f"{points - 1}; got {own[:3]}, ...; drop it to match points by their order"
            )
        draws = draws.sel({dim: np.arange(points)})
    return draws.to_numpy()


def _of_array(draws: Any, points: int) -> np.ndarray:
    try:
        w = np.asarray(draws, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "draws: expected a DataTree, a dataset, or an array of numbers, got "
            f"{draws!r:.80} ({error})"
        ) from error
    w = w[None] if w.ndim == 2 else w
    if w.ndim != 3 or w.shape[-1] != points or not w.size:
        raise ValueError(
            f"draws: expected weights of shape (draws, {points}), one for each point of the fit, "
            f"got shape {np.shape(draws)}"
        )
    return w


def _require_weights(w: np.ndarray, known: Fitted) -> None:
    """Raise a ValueError for weights that the model of a fit cannot have."""
    name, gram = type(known.estimator).__name__, known.gram
    if not np.isfinite(w).all():
        raise ValueError("draws: the weights w are not finite in all draws")
    if known.model.on_simplex and not gram.n1 and w.min() < -1e-9:
        raise ValueError(f"draws: the weights of {name} are at least 0, got {w.min():.3g}")
    total = w.sum(axis=-1)
    if (known.model.on_simplex or gram.n1) and np.abs(total - 1.0).max() > SUM:
        worst = total.ravel()[np.abs(total - 1.0).argmax()]
        raise ValueError(f"draws: the weights of {name} sum to 1 in each draw, got {worst:.6g}")


def prior_draws(
    est: Description, X: Any, y: Any = None, Z: Any = None, draws: int = PRIOR_DRAWS
) -> xr.Dataset:
    """Return draws of the weights and of d_z from the prior, without a fit.

    Parameters
    ----------
    est : estimator with a posterior
        Its parameters count; it need not be fitted.
    X, y
        Training rows and labels, as in ``fit``.
    Z : array-like of shape (m, p), optional
        The rows z. Default: the training rows.
    draws : int, default=1000

    Returns
    -------
    xarray.Dataset
        ``w`` of dims (chain, draw, point), and ``d`` of dims (chain, draw, obs).

    Raises
    ------
    TypeError
        The estimator has no prior.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> prior = bsvdd.prior_draws(bsvdd.BSVDD(), np.random.default_rng(0).normal(size=(50, 2)))
    >>> prior["w"].dims, bool(np.allclose(prior["w"].sum("point"), 1.0))
    (('chain', 'draw', 'point'), True)
    """
    est = clone(est)
    est._validate_params()
    seed = seed_of(est.get_params(deep=False).get("random_state", 0))
    learner = est._learner(seed)
    if not isinstance(learner, Posterior):
        raise TypeError(f"{type(est).__name__} has no prior; use BSVDD, BDD, BSVDDM or BDDM")
    training = Training.read(est, as_kernel(est.kernel), X, y)
    training = training.counted(None, None, est._learns_from_minority, seed)
    rows = training.filled.rows if Z is None else training.new(Z).rows
    with threads.one():
        most = est._most(len(training.minority))
        data = Data.of(training.kernel, training.units, est._learns_from_minority, most)
        w = sampling.of_prior(learner.model(data, learner.scale(data).scale), draws, seed)
        d = Fit(data, Learned(centre_of(data, w)), FalseAlarm()).distances(rows)
    dims = "chain", "draw"
    coords = {"chain": [0], "draw": np.arange(draws)}
    return xr.Dataset({"w": ((*dims, "point"), w[None]), "d": ((*dims, "obs"), d[None])}, coords)
