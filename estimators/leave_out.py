"""Left-out distances of the training rows, from which the cutoff is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..inference import cross_validation, diagnostics
from ..inference.cutoff import Cutoff
from ..inference.decision import distance_quantile, weighted_distance_quantile
from ..inference.leave_one_out import leave_one_out
from ..inference.scoring import ScoringRule
from ..models.closed_form import ClosedForm
from .training import FitState

AUTO_FOLDS = 5


class LeaveOneOut(Protocol):
    """Leave-one-out without a refit: each dictionary point leaves the centre."""

    def quantiles(self, state: FitState, level: float) -> np.ndarray:
        """Return the distance quantile (M,) of each left-out point."""
        ...


@dataclass(frozen=True)
class Renormalized:
    """The other weights of each draw are rescaled to sum to one; see :mod:`.leave_one_out`.

    Rows that are not points keep their distances: the centre of a one-class model does not depend
    on minority rows, and on a majority row beside landmarks only through r and T.
    """

    def quantiles(self, state: FitState, level: float) -> np.ndarray:
        """Return the distance quantile (M,) of each left-out point."""
        row_of_point, d = state.data.row_of_point, None
        if (row_of_point >= 0).all():
            d = state.values
            if not np.array_equal(row_of_point, np.arange(d.shape[1])):
                d = d[:, row_of_point]
        gram = state.data.gram
        left_out = leave_one_out(state.rule.weights, gram.K, gram.n1, d)
        return distance_quantile(left_out, level)


@dataclass(frozen=True, eq=False)
class FromClosedForm:
    """Each row leaves the posterior, by the model's closed form."""

    closed_form: ClosedForm

    def quantiles(self, state: FitState, level: float) -> np.ndarray:
        """Return the distance quantile (M,) of each left-out point."""
        rng = np.random.default_rng(state.data.seed)
        d, log_weight = self.closed_form.leave_one_out(state.rule.weights, rng)
        if log_weight is None:
            return distance_quantile(d, level)
        diagnostics.warn_of_weights(log_weight[:, state.data.row_of_point >= 0])
        return weighted_distance_quantile(d, log_weight, level)


def resolved_cv(policy: Cutoff, minority: np.ndarray, all_rows: bool, has_loo: bool) -> str | int:
    """Return how rows are left out: "loo", "train" or a number of folds.

    Raises
    ------
    ValueError
        The cutoff needs folds, but the fit holds a sample of the rows only.
    """
    cv = policy.cv
    if cv == "auto":
        cv = "loo" if has_loo or not all_rows else _auto_folds(minority)
    if isinstance(cv, int) and not all_rows:
        raise ValueError(
            f"cutoff: cv={cv} folds are refitted to all rows, but the fit holds a sample of "
            f"{len(minority)} rows only; use cv='auto', or a number as the cutoff"
        )
    return cv


def check(policy: Cutoff, minority: np.ndarray, all_rows: bool, has_loo: bool, model: str) -> None:
    """Raise a ValueError, before any kernel value, if the cutoff cannot be chosen."""
    if policy.cv == "loo" and not has_loo:
        raise ValueError(
            f"cutoff: {model} has no leave-one-out in closed form here (BDD has it for a normal "
            "prior, BDD-M for a truncated normal minority_prior); use cv='auto' or a number of "
            "folds"
        )
    if isinstance(policy.criterion, str) and policy.criterion != "model":
        cv = resolved_cv(policy, minority, all_rows, has_loo)
        policy = replace(policy, cv=cv)  # type: ignore[arg-type]
    policy.check(minority)


def distance_quantiles(
    state: FitState,
    policy: Cutoff,
    loo: LeaveOneOut | None,
    refit: Callable[[np.ndarray], ScoringRule],
) -> np.ndarray:
    """Return the distance quantile (n,) of each training row; NaN if it cannot be left out.

    Parameters
    ----------
    state : FitState
    policy : Cutoff
    loo : LeaveOneOut or None
        None if the model has no leave-one-out without a refit.
    refit : callable
        Takes row numbers, and returns the scoring rule of a fit to these rows.
    """
    data, level = state.data, policy.level
    cv = resolved_cv(policy, data.minority, data.all_rows, loo is not None)
    if isinstance(cv, int):
        folds = cross_validation.folds(data.minority, cv, data.seed)
        return cross_validation.refitted_distances(data.rows, folds, refit, level)
    out, others = np.empty(len(data.rows)), np.ones(len(data.rows), dtype=bool)
    if cv == "loo":
        is_row = data.row_of_point >= 0
        points = np.full(data.gram.n_points, np.nan)
        if loo is not None:
            points = loo.quantiles(state, level)
        out[data.row_of_point[is_row]] = points[is_row]
        others[data.row_of_point[is_row]] = False
    if others.any():
        d = state.values
        out[others] = distance_quantile(d if others.all() else d[:, others], level)
    return out


def _auto_folds(minority: np.ndarray) -> int:
    """Return 5, or as many folds as the smaller class has rows, but at least 2."""
    counts = [n for n in (int((~minority).sum()), int(minority.sum())) if n]
    return max(2, min(AUTO_FOLDS, *counts))
