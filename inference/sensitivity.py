r"""Power-scaling: sensitivity to a slightly stronger or weaker prior or likelihood.

The posterior :math:`\propto p(\theta)^{\alpha}\, p(x \mid \theta)` for alpha near 1, and the
counterpart with a power of the likelihood, follow from the draws by importance weights (Kallioinen,
Paananen, Buerkner and Vehtari 2024, Detecting and diagnosing prior and likelihood sensitivity with
power-scaling, Statistics and Computing 34. doi:10.1007/s11222-023-10366-5).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from .warning import DiagnosticWarning, warn

STEP = 0.01  # of alpha, on either side of 1
SENSITIVE = 0.05  # above this, az.psense calls a posterior sensitive
NOISE = 0.37  # simulated psense of independent values, per sd of the log density / sqrt(ess)


def power_scaling(
    d: xr.DataArray,
    cutoff: float,
    log_prior: dict[str, np.ndarray],
    log_likelihood: np.ndarray,
    ess: float,
) -> pd.DataFrame:
    """Return the sensitivity of d_z and of P(normal), a row for each row z.

    Parameters
    ----------
    d : DataArray of dims (chain, draw, obs)
        Distances with a common norm.
    cutoff : float
        D_opt, which is held fixed.
    log_prior : dict of ndarray of shape (chains, draws)
        Log prior densities, by variable.
    log_likelihood : ndarray of shape (chains, draws)
    ess : float
        Effective sample size of the draws.
    """
    import arviz as az

    sample = ("chain", "draw")
    densities = {
        "prior": np.sum(list(log_prior.values()), axis=0),
        "likelihood": log_likelihood,
    }
    groups = {f"log_{name}": xr.Dataset({name: (sample, v)}) for name, v in densities.items()}
    tree = xr.DataTree.from_dict({"posterior": d.to_dataset(name="d"), **groups})
    normal = (d <= cutoff).values
    columns: dict[str, Any] = {"probability_normal": normal.mean(axis=(0, 1))}
    for name, values in densities.items():
        noise = NOISE * values.std() / math.sqrt(ess)
        columns[f"d_{name}"], columns[f"d_{name}_noise"] = 0.0, noise
        if np.ptp(values) > 0:  # a constant density, such as that of pm.Flat, has no effect
            psense = az.psense(tree, "d", group=name, alphas=(1 - STEP, 1 + STEP))
            columns[f"d_{name}"] = psense["d"].values
        if noise > SENSITIVE:
            warn(
                f"too few draws: a sensitivity of d_z to the {name} of .05 is below the noise "
                f"(about {noise:.2f}); use {math.ceil((noise / SENSITIVE) ** 2)} times as many "
                f"draws, or compare d_{name} with d_{name}_noise",
                DiagnosticWarning,
            )
    for name, values in densities.items():
        slope, error = _slope(normal, values, ess)
        columns[f"probability_{name}"], columns[f"probability_{name}_se"] = slope, error
    return pd.DataFrame(columns, index=pd.Index(d["obs"].values, name="obs"))


def _slope(
    normal: np.ndarray, log_density: np.ndarray, ess: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\mathrm d P / \mathrm d \log_2 \alpha` at alpha = 1, and its standard error.

    It is the posterior covariance of the indicator d_z <= D_opt with the log density, times
    log 2.
    """
    centred = log_density - log_density.mean()
    products = math.log(2.0) * centred[..., None] * (normal - normal.mean(axis=(0, 1)))
    return products.mean(axis=(0, 1)), products.std(axis=(0, 1)) / math.sqrt(ess)
