"""The first fit of the explorer, which finds the bandwidth and whether there are minority rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, override

import numpy as np

from ..estimators.registry import REGISTRY
from ..models import kernels
from .ranges import Range, bandwidth_range, round_significant
from .refit import FitResult, refit
from .state import CRITERIA_WITHOUT_MINORITY, DEFAULT_MODEL, ExplorerState


@dataclass(frozen=True, repr=False)
class RoundedRBF(kernels.RBF):
    """An RBF kernel that rounds the bandwidth of its criterion as the slider shows it."""

    @override
    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Any:
        exact = float(super().resolve(X, dimensions).bandwidth)
        return kernels.RBF(bandwidth=round_significant(exact))


def first_fit(X: Any, y: Any, options: dict[str, Any]) -> tuple[FitResult, ExplorerState, Range]:
    """Return the first fit, its state, and the range of the bandwidth.

    The bandwidth and the criterion of the cutoff depend on the rows, which only ``fit`` reads and
    checks. So the kernel of the fit finds the bandwidth, and the criterion is set after the fit;
    neither needs a second fit.

    Parameters
    ----------
    X, y
        Training rows and labels.
    options : dict
        Fields of the state that have no control.
    """
    state = ExplorerState(bandwidth=1.0, **options)  # the kernel of the fit is another one
    est = state.estimator()
    criterion = REGISTRY[DEFAULT_MODEL].parameters["kernel"].kernel.bandwidth
    kernel: kernels.Kernel = RoundedRBF(criterion)
    if state.standardize:
        kernel = kernels.Tabular(kernel)
    est.set_params(kernel=kernel, cutoff=1.0)  # any number: the criterion is not known yet
    fit = refit(est, None, X, y)

    fitted: Any = est.kernel_
    found = (fitted.kernel if state.standardize else fitted).bandwidth
    has_minority = est.fit_.data.minority.any()
    state = replace(
        state,
        bandwidth=found,
        criterion=state.criterion if has_minority else CRITERIA_WITHOUT_MINORITY[0],
    )
    est.set_params(kernel=state.estimator().kernel)
    return refit(state.estimator(), fit, X, y), state, bandwidth_range(found)
