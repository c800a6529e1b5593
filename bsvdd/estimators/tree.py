"""The DataTree of a fit, ``est.idata_``, and a fit with draws from one, ``est.with_draws``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of ``w``; of a few numbers on the weights, and of ``s``, the similarity of
                   up to 20 left-out training rows near the cutoff:
                   :mod:`bsvdd.estimators.facts`
sample_stats       statistics of the sampler
prior              the same from the prior
distance           ``d``, the distances of the training rows in each draw, as those of new rows
log_likelihood     ``kernel``, the sum over the rows; no density of rows, so not for ``az.loo``
potential          ``kernel``, its terms
decision           what ``est.decision()`` has of the training rows, each left out, and the cutoff
diagnostics        the largest R-hat and the smallest effective sample size of s at 50 points, the
                   number of divergences, and medians of the support of the weights
constant_data      the training rows, their classes, weights and batches, and the point of each
=================  =====================================================================
"""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr

from ..base import threads
from ..base.messages import quoted
from ..inference.fit import Learned
from ..inference.learners import of_draws
from ..inference.sampling import Draws
from ..tables.labels import to_save
from . import decisions
from .fitted import Fitted

SAMPLE = "chain", "draw"
SUM = 1e-6  # of weights that sum to one, but for rounding
_trees: WeakKeyDictionary[Fitted, xr.DataTree] = (
    WeakKeyDictionary()
)  # each is made once


def of_fit(fitted: Fitted) -> xr.DataTree:
    """Return the tree of a fit, made when it is first asked for."""
    if fitted not in _trees:
        with threads.one():
            _trees[fitted] = _of_fit(fitted)
    return _trees[fitted]


def by_draw(learned: Learned, values: np.ndarray, *dims: str) -> xr.DataArray:
    """Return values (S, ...) of the draws with their dims, ``(chain, draw, *dims)``."""
    chains = learned.chains
    shaped = values.reshape(chains, -1, *values.shape[1:])
    coords = {"chain": np.arange(chains), "draw": np.arange(shaped.shape[1])}
    return xr.DataArray(shaped, coords, (*SAMPLE, *dims))


def _of_fit(fitted: Fitted) -> xr.DataTree:
    learned = fitted.learned
    data = fitted.data
    obs = np.arange(len(data.units.X))
    d = by_draw(learned, fitted.distances(data.units.X), "obs").assign_coords(obs=obs)
    groups: dict[str, Any] = {
        "posterior": _draws(fitted, "posterior"),
        "distance": d.to_dataset(name="d"),
        "constant_data": _constant(fitted),
        "decision": _decision(fitted),
    }
    if learned.stats:
        dims = {name: (SAMPLE, v) for name, v in learned.stats.items()}
        groups["sample_stats"] = xr.Dataset(dims)
    if fitted.prior is not None:
        groups["prior"] = _draws(fitted, "prior")
    if learned.scale is not None:
        taught = data.units.majority
        weight = xr.DataArray(data.units.weight[taught], {"obs": taught}, "obs")
        terms = -learned.scale.scale / 2.0 * weight * d.sel(obs=taught) ** 2
        groups["potential"] = terms.to_dataset(name="kernel")
        groups["log_likelihood"] = groups["potential"].sum("obs")
    groups["diagnostics"] = _diagnostics(fitted)
    return xr.DataTree.from_dict(groups)


def _draws(fitted: Fitted, group: str) -> xr.Dataset:
    """Return the weights and what follows from them, of "posterior" or "prior"."""
    learned = fitted.learned
    if group == "prior":
        assert fitted.prior is not None
        learned = Learned(fitted.prior)
    w = by_draw(learned, learned.centre.w, "point")
    found = {"w": w.assign_coords(point=np.arange(w.sizes["point"]))}
    if fitted.has_draws:
        near = fitted.training.row_names[fitted.near.which]
        s = by_draw(learned, fitted.near.similarity(learned.centre), "near")
        found["s"] = s.assign_coords(near=near)
        found |= {n: by_draw(learned, v) for n, v in fitted.quantities[group].items()}
    attrs: dict[str, Any] = {"sampler": learned.sampler} if learned.sampler else {}
    if fitted.learned.scale is not None:
        attrs["likelihood_scale"] = fitted.learned.scale.scale
    return xr.Dataset(found, attrs=attrs)


def _decision(fitted: Fitted) -> xr.Dataset:
    found = (
        decisions.of_fit(fitted, None, None, 0.9)
        .reset_index(drop=True)
        .rename_axis("obs")
    )
    return xr.Dataset.from_dataframe(found).assign(cutoff=fitted.D_opt)


def _diagnostics(fitted: Fitted) -> xr.Dataset:
    of_posterior = fitted.quantities["posterior"]
    found = {
        name: np.median(of_posterior[name])
        for name in ("effective_support", "largest_weight")
    }
    found |= {"r_hat": fitted.chains.r_hat, "ess": fitted.chains.ess}
    return xr.Dataset({**found, "divergences": fitted.divergences})


def _constant(fitted: Fitted) -> xr.Dataset:
    training = fitted.training
    units = fitted.data.units
    variables: dict[str, Any] = {
        "X": (("obs", "feature"), units.X),
        "minority": ("obs", units.minority),
        "weight": ("obs", units.weight),
        "unit": ("obs", units.unit),
        "point_of_row": ("obs", fitted.gram.of_row),
        "name": ("obs", training.names),
    }
    attrs = {"labels": json.dumps(to_save(training.labels))} if training.labels else {}
    return xr.Dataset(
        {name: of for name, of in variables.items() if of[1] is not None},
        {"obs": np.arange(len(units.X))},
        {**training.apart, **attrs},
    )


# draws of the user


def with_draws(known: Fitted, draws: Any) -> Fitted:
    """Return a fit with draws of the user; see ``est.with_draws``.

    Raises
    ------
    ValueError, TypeError
        Draws that cannot be; the message says what was expected.
    """
    w, stats = read(draws, len(known.gram.K))
    _require_weights(w, known)
    learned = of_draws(known.data, Draws(w, stats), known.learned.scale)
    return known.changed(learned=learned, seconds=np.nan)


def read(draws: Any, points: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return weights (chains, draws, points), and what a sampler says of each draw."""
    stats: dict[str, np.ndarray] = {}
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise ValueError(
                "draws: expected a DataTree with the group posterior, got "
                f"{quoted(draws.children)}"
            )
        if "sample_stats" in draws.children and "diverging" in draws["sample_stats"]:
            stats = {"diverging": np.asarray(draws["sample_stats"]["diverging"])}
        draws = draws["posterior"].dataset
    if isinstance(draws, xr.Dataset):
        if "w" not in draws:
            raise ValueError(
                f"draws: expected the weights w, got {quoted(draws.data_vars)}; "
                "est.model_ has them"
            )
        draws = draws["w"]
    if isinstance(draws, xr.DataArray):
        return _of_array(_ordered(draws, points), points), stats
    return _of_array(draws, points), stats


def _ordered(draws: Any, points: int) -> Any:
    """Return draws of dims (chain, draw, point), their points in the order of the fit."""
    if "draw" not in draws.dims or draws.ndim != 2 + ("chain" in draws.dims):
        raise ValueError(
            f"draws: expected the dims chain, draw and point, got {draws.dims}"
        )
    if "chain" not in draws.dims:
        draws = draws.expand_dims("chain")
    draws = draws.transpose(*SAMPLE, ...)
    dim = draws.dims[2]
    if draws.sizes[dim] == points and dim in draws.coords:
        own = draws[dim].values.tolist()
        if set(own) != set(range(points)):
            raise ValueError(
                f"draws: the coordinate {dim!r} names other points than the fit, which "
                f"has 0 to {points - 1}; got {own[:3]}, ...; drop it to match points "
                "by their order"
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
            f"draws: expected weights of shape (draws, {points}), one for each point "
            f"of the fit, got shape {np.shape(draws)}"
        )
    return w


def _require_weights(w: np.ndarray, known: Fitted) -> None:
    """Raise a ValueError for weights that the model of a fit cannot have."""
    name = type(known.estimator).__name__
    gram = known.gram
    if not np.isfinite(w).all():
        raise ValueError("draws: the weights w are not finite in all draws")
    if known.model.on_simplex and not gram.n1 and w.min() < -1e-9:
        raise ValueError(
            f"draws: the weights of {name} are at least 0, got {w.min():.3g}"
        )
    total = w.sum(axis=-1)
    if (known.model.on_simplex or gram.n1) and np.abs(total - 1.0).max() > SUM:
        worst = total.ravel()[np.abs(total - 1.0).argmax()]
        raise ValueError(
            f"draws: the weights of {name} sum to 1 in each draw, got {worst:.6g}"
        )
