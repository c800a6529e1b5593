"""Scores of the training rows when they are left out, from which the cutoff is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..inference import cross_validation, diagnostics
from ..inference.cutoff import Cutoff
from ..inference.leave_one_out import leave_one_out
from ..inference.scoring import ScoringRule
from ..models import bdd
from ..models.closed_form import ClosedForm
from ..models.priors import Prior
from .training import TrainingData


class LeaveOneOut(Protocol):
    """Leave-one-out without a refit: each dictionary point leaves the centre."""

    def kernel_sums(
        self, weights: np.ndarray, data: TrainingData, Kw: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the kernel sums of left-out points, and log weights of the draws or None.

        Both are of shape (draws, M), as are the weights of the draws, and their products with K if
        they are known, which may be overwritten.
        """
        ...


@dataclass(frozen=True)
class Renormalized:
    """The other weights of each draw are rescaled to sum to one; see :mod:`.leave_one_out`.

    Rows that are not points keep their distances: the centre of a one-class model does not depend
    on minority rows, and on a majority row beside landmarks only through r and T.
    """

    def kernel_sums(
        self, weights: np.ndarray, data: TrainingData, Kw: np.ndarray | None = None
    ) -> tuple[np.ndarray, None]:
        """Return the kernel sums (draws, M) of left-out points; all draws count the same."""
        return leave_one_out(weights, data.gram.K, data.gram.n1, Kw), None


@dataclass(frozen=True, eq=False)
class FromClosedForm:
    """Each row leaves the posterior, by the model's closed form."""

    closed_form: ClosedForm

    def kernel_sums(
        self, weights: np.ndarray, data: TrainingData, Kw: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the kernel sums (draws, M) of left-out points, and log weights of the draws."""
        return self.closed_form.leave_one_out(weights, np.random.default_rng(data.seed))


@dataclass(frozen=True, eq=False)
class ModeWithoutEach:
    """Leave-one-out of the posterior mode of BDD: the mode without each row, by no refit."""

    prior: Prior
    likelihood_scale: float

    def kernel_sums(
        self, weights: np.ndarray, data: TrainingData, Kw: np.ndarray | None = None
    ) -> tuple[np.ndarray, None]:
        """Return the kernel sum (1, M) of each point with the mode without it."""
        modes, _ = bdd.left_out(data.gram, self.prior, self.likelihood_scale)
        return (data.gram.K * modes).sum(axis=0)[None], None


@dataclass(frozen=True, eq=False)
class BootstrapWithoutEach:
    """Leave-one-out of the bootstrap of BDD: the mode without each row, and the others' moves."""

    prior: Prior
    likelihood_scale: float

    def kernel_sums(
        self, weights: np.ndarray, data: TrainingData, Kw: np.ndarray | None = None
    ) -> tuple[np.ndarray, None]:
        """Return the kernel sums (draws, M) of left-out points; all draws count the same."""
        mode, _ = bdd.posterior(data.gram, self.prior, self.likelihood_scale)
        without_each = ModeWithoutEach(self.prior, self.likelihood_scale)
        moves = weights - mode
        own = moves * np.diag(data.gram.K)
        return without_each.kernel_sums(weights, data)[0] + moves @ data.gram.K - own, None


def resolved_cv(
    policy: Cutoff, minority: np.ndarray, all_rows: bool, has_loo: bool, auto_folds: int
) -> str | int:
    """Return how rows are left out: "loo", "train" or a number of folds.

    Raises
    ------
    ValueError
        The cutoff needs folds, but the fit holds a sample of the rows only.
    """
    cv = policy.cv
    if cv == "auto":
        cv = "loo" if has_loo or not all_rows else folds_for(minority, auto_folds)
    if isinstance(cv, int) and not all_rows:
        raise ValueError(
            f"cutoff: cv={cv} folds are refitted to all rows, but the fit holds a sample of "
            f"{len(minority)} rows only; use cv='auto', or a number as the cutoff"
        )
    return cv


def check(
    policy: Cutoff,
    minority: np.ndarray,
    all_rows: bool,
    has_loo: bool,
    auto_folds: int,
    model: str,
) -> None:
    """Raise a ValueError, before any kernel value, if the cutoff cannot be chosen."""
    if policy.cv == "loo" and not has_loo:
        raise ValueError(
            f"cutoff: {model} has no leave-one-out in closed form here (BDD has it for a normal "
            "prior, BDD-M for a truncated normal minority_prior); use cv='auto' or a number of "
            "folds"
        )
    if isinstance(policy.criterion, str) and policy.criterion != "model":
        cv = resolved_cv(policy, minority, all_rows, has_loo, auto_folds)
        policy = replace(policy, cv=cv)  # type: ignore[arg-type]
    policy.check(minority)


def scores(
    data: TrainingData,
    rule: ScoringRule,
    policy: Cutoff,
    loo: LeaveOneOut | None,
    auto_folds: int,
    refit: Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]],
    Kw: np.ndarray | None = None,
) -> np.ndarray:
    """Return the score (n,) of each training row when it is left out; NaN if it cannot be.

    Parameters
    ----------
    data : TrainingData
    rule : ScoringRule
        The rule of the fit to all rows, without pruning.
    policy : Cutoff
    loo : LeaveOneOut or None
        None if the model has no leave-one-out without a refit.
    auto_folds : int
        Folds of ``cv="auto"`` where there is no leave-one-out.
    refit : callable
        Takes row numbers, and returns the scores by a fit to these rows as a function of rows.
    Kw : ndarray of shape (draws, M), optional
        K w of each draw, if it is known; it may be overwritten.
    """
    level = policy.level
    cv = resolved_cv(policy, data.minority, data.all_rows, loo is not None, auto_folds)
    if isinstance(cv, int):
        folds = cross_validation.folds(data.minority, cv, data.seed)
        return cross_validation.refitted_scores(data.rows, folds, refit)
    out, others = np.empty(len(data.rows)), np.ones(len(data.rows), dtype=bool)
    if cv == "loo":
        is_row = data.row_of_point >= 0
        points = np.full(data.gram.n_points, np.nan)
        if loo is not None:
            kernel_sums, log_weight = loo.kernel_sums(rule.weights, data, Kw)
            if log_weight is not None:
                diagnostics.warn_of_weights(log_weight[:, is_row])
            points = rule.left_out_scores(kernel_sums, level, log_weight)
        out[data.row_of_point[is_row]] = points[is_row]
        others[data.row_of_point[is_row]] = False
    if others.any():
        out[others] = rule.scores(data.rows[others], level)
    return out


def folds_for(minority: np.ndarray, most: int) -> int:
    """Return up to ``most`` folds, at most as many as the smaller class has rows; at least 2."""
    counts = [n for n in (int((~minority).sum()), int(minority.sum())) if n]
    return max(2, min(most, *counts))
