r"""Sensitivity to power-scaling: what a little more or less of the prior, or of the data, does.

The posterior :math:`\propto p(\theta)^{\alpha}\, p(x \mid \theta)` for alpha near 1, and the same
with the likelihood, come from the draws at hand by importance weights (Kallioinen, Paananen,
Buerkner and Vehtari 2024, Detecting and diagnosing prior and likelihood sensitivity with
power-scaling, Statistics and Computing 34. doi:10.1007/s11222-023-10366-5).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

STEP = 0.01  # of alpha, on either side of 1


def power_scaling(
    d: xr.DataArray, cutoff: float, log_prior: xr.Dataset, log_likelihood: np.ndarray
) -> pd.DataFrame:
    """Return the sensitivity of d_z and of P(normal), a row for each row z.

    Parameters
    ----------
    d : DataArray of dims (chain, draw, obs)
    cutoff : float
        Held as it is.
    log_prior : Dataset of dims (chain, draw)
    log_likelihood : ndarray of shape (chains, draws)
    """
    import arviz as az

    sample = ("chain", "draw")
    alphas = (1 - STEP, 1 + STEP)
    tree = xr.DataTree.from_dict(
        {
            "posterior": d.to_dataset(name="d"),
            "log_prior": log_prior,
            "log_likelihood": xr.Dataset({"kernel": (sample, log_likelihood)}, log_prior.coords),
        }
    )
    normal = (d <= cutoff).values
    columns: dict[str, np.ndarray] = {"probability_normal": normal.mean(axis=(0, 1))}
    for group in ("prior", "likelihood"):
        found = az.psense(tree, var_names="d", group=group, alphas=alphas)
        columns[f"d_{group}"] = found["d"].values
    for group in ("prior", "likelihood"):
        total = tree[f"log_{group}"].dataset.to_array().sum("variable").values
        columns[f"probability_{group}"] = _slope(normal, total)
    return pd.DataFrame(columns, index=pd.Index(d["obs"].values, name="obs"))


def _slope(normal: np.ndarray, log_density: np.ndarray) -> np.ndarray:
    r"""Return :math:`\mathrm d P / \mathrm d \log_2 \alpha` at alpha = 1, a number a row.

    It is the posterior covariance of the indicator d_z <= D_opt with the log density, times
    log 2.
    """
    centred = log_density - log_density.mean()
    slope: np.ndarray = np.log(2.0) * np.einsum("cd,cdi->i", centred, normal) / centred.size
    return slope
