"""Fits an estimator and reuses the previous fit where possible."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from ..estimators.bayesian import Bayesian
from ..inference.warning import DataWarning, collected

REUSES_STATISTICS = {"prior", "minority_prior", "likelihood_scale", "cutoff"}


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted estimator and the warnings of its fit.

    Attributes
    ----------
    est : Bayesian
    warnings : list of tuple
        Message and category of each warning.
    """

    est: Bayesian
    warnings: list[tuple[str, type[Warning]]]

    @property
    def messages(self) -> list[str]:
        """The texts of the warnings, without repetitions."""
        return list(dict.fromkeys(message for message, _ in self.warnings))


def refit(new: Bayesian, previous: FitResult | None, X: Any, y: Any = None) -> FitResult:
    """Fit ``new`` to X and y, with as little work as its changed parameters allow.

    Parameters
    ----------
    new : Bayesian
        Not fitted.
    previous : FitResult or None
        A fit to the same X and y. If only the cutoff has changed, its draws are reused; if only
        priors or the likelihood scale have changed, its Gram statistics are reused.
    X, y
        Training rows and labels.
    """
    if previous is None or type(previous.est) is not type(new):
        return _fit(new, X, y)
    before, after = previous.est.get_params(deep=False), new.get_params(deep=False)
    changed = {name for name, value in after.items() if before[name] != value}
    if not changed:
        return previous
    if changed == {"cutoff"}:
        with collected() as warnings:
            est = previous.est.with_cutoff(new.cutoff)
        return FitResult(est, list(dict.fromkeys(previous.warnings + warnings)))
    if changed - REUSES_STATISTICS:
        return _fit(new, X, y)
    est = copy.copy(previous.est)
    est.set_params(likelihood_scale=new.likelihood_scale, cutoff=new.cutoff)
    new_priors = {name: after[name] for name in ("prior", "minority_prior") if name in after}
    with collected() as warnings:
        est = est.with_prior(**new_priors)
    about_rows = [warning for warning in previous.warnings if warning[1] is DataWarning]
    return FitResult(est, about_rows + warnings)


def _fit(est: Bayesian, X: Any, y: Any) -> FitResult:
    with collected() as warnings:
        est.fit(X, y)
    return FitResult(est, warnings)
