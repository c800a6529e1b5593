"""How a decision hangs on the prior and on the weight of training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..estimators.sensitivity import MOST_SHOWN, largest
from .common import MAJORITY, MINORITY, PRIOR, panels, short

if TYPE_CHECKING:
    import xarray as xr

MOST_PANELS = 6
TITLES = {
    "prior": "if the prior mean of its {variable} is larger by 1",
    "weight": "if it counts once more in the likelihood",
}


def plot_sensitivity(
    found: xr.Dataset, of: str = "prior", most: int = MOST_SHOWN
) -> np.ndarray:
    """Show the training rows on which the score of each row hangs most.

    A bar is the derivative of the score by the prior or the weight of a training row,
    and a line its Monte Carlo interval of two standard errors. Right of 0, more of the
    row makes the decided row more normal.

    Parameters
    ----------
    found : xarray.Dataset
        Of :func:`bsvdd.sensitivity`; the first six of its rows have a panel.
    of : {"prior", "weight"}, default="prior"
    most : int, default=10
        Number of training rows in a panel.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (n,)

    Raises
    ------
    ValueError
        The sensitivity has no such derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> est = bsvdd.BSVDD().fit(np.random.default_rng(0).normal(size=(30, 2)))
    >>> found = bsvdd.sensitivity(est, [[0.0, 2.5], [0.0, 0.0]])
    >>> axes = bsvdd.plots.plot_sensitivity(found)
    """
    n = min(found.sizes["obs"], MOST_PANELS)
    axes = panels(n, 3, 3.6, 0.8 + 0.24 * most)
    for i, ax in enumerate(axes):
        one = found.isel(obs=[i])
        table = largest(one, of, most).iloc[::-1]
        value = table["derivative"].to_numpy()
        place = np.arange(len(table))
        color = np.where(value > 0.0, MAJORITY, MINORITY)
        ax.barh(place, value, color=color, alpha=0.6)
        error = 2.0 * table["se"].to_numpy()
        ax.hlines(place, value - error, value + error, color=PRIOR, linewidth=1.5)
        ax.axvline(0.0, color=PRIOR, linewidth=0.8)
        names = [short(name) for name in table["row"]]
        ax.set_yticks(place, names, fontsize=8, parse_math=False)
        score = float(one["score"].item())
        title = f"row {short(one['obs'].item())}: score {score:.2f}"
        ax.set_title(title, fontsize=10, parse_math=False)
        ax.set_xlabel(
            f"change of the score,\n{TITLES[of].format(**found.attrs)}", fontsize=8
        )
    return axes
