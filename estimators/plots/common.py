"""Colours and helpers that all plots share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from ..detector import Detector
from ..fit import Fit

MAJORITY, MINORITY = "#0072B2", "#D55E00"  # safe for colour-blind readers (Okabe and Ito 2008)
PRIOR = "#999999"
BINS = 40  # of a histogram of margins
POWERS = 6  # of ten at a logarithmic axis, at most
LENGTH = 16  # characters of the name of a row in a picture
FAR_ROWS = 5.0  # times the surprise of most rows, beyond which an axis is logarithmic
P_NORMAL = LinearSegmentedColormap.from_list("p_normal", ["#EBA77C", "#F7F4EF", "#8FBFDD"])


RowClass = tuple[np.ndarray, str, str, str]  # rows (as a mask), colour, marker and label


def row_classes(minority: np.ndarray, majority: str = "majority") -> list[RowClass]:
    """Return the classes that have rows; ``majority`` is the label of the first."""
    classes = [(~minority, MAJORITY, "o", majority), (minority, MINORITY, "^", "minority")]
    return [each for each in classes if each[0].any()]


def by_name(est: Detector | Mapping[str, Detector]) -> dict[str, Detector]:
    """Return one estimator or several by their names."""
    return dict(est) if isinstance(est, Mapping) else {type(est).__name__: est}


def plain(text: object) -> str:
    """Return a text of the user such that matplotlib draws it as it is, and no mathtext."""
    return str(text).replace("$", r"\$")


def short(text: object, length: int = LENGTH) -> str:
    """Return a text on one line, of at most so many characters: its middle is left out."""
    line = " ".join(str(text).split())
    end = (length - 1) // 2
    return line if len(line) <= length else f"{line[: length - 1 - end]}…{line[-end:]}"


@contextmanager
def boxes_for_letters() -> Iterator[None]:
    """Draw a letter that no font has as a box, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def label_rows(ax: Axes, names: np.ndarray) -> None:
    """Label the x axis, on which row j is at j, with the user's names of the rows."""
    if np.array_equal(names, np.arange(len(names))):
        return
    ticks: Any = MaxNLocator(nbins=12, integer=True).tick_values(0, len(names) - 1)
    places = [round(place) for place in ticks.tolist() if 0 <= place < len(names)]
    texts = [plain(short(names[place])) for place in places]
    turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(places, texts, **(turned if max(map(len, texts)) > 4 else {}))


def point_names(est: Detector) -> list[str]:
    """Return the name of each dictionary point: that of its training row, or its own number."""
    data = est.fit_.data
    return [
        f"row {short(data.row_names[row])}" if row >= 0 else f"point {point}"
        for point, row in enumerate(data.row_of_point)
    ]


def margin_bins(margins: np.ndarray) -> np.ndarray:
    """Return edges of bins of margins, one of which is 0; no bin has minus infinity."""
    finite = margins[np.isfinite(margins)]
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    width = (high - low) / BINS or 1.0
    return width * np.arange(np.floor(low / width), np.ceil(high / width) + 1.0)


def draw_margin(ax: Axes, margins: np.ndarray, bins: np.ndarray | None = None) -> None:
    """Draw the histogram of the margins of a row, whose area right of 0 is P(normal)."""
    bins = margin_bins(margins) if bins is None else bins
    height, _ = np.histogram(np.clip(margins, bins[0], bins[-1]), bins, density=True)
    inside = bins[:-1] >= 0.0
    for part, color in ((inside, MAJORITY), (~inside, MINORITY)):
        ax.stairs(np.where(part, height, 0.0), bins, fill=True, color=color, alpha=0.6)
    ax.axvline(0.0, color="#333333", linewidth=1.4)


def show_probability(
    ax: Axes, p: np.ndarray, extent: tuple[float, float, float, float]
) -> AxesImage:
    """Show P(normal) in colour on a grid whose outermost points are at ``extent``.

    A pixel has its grid point in the middle, so half of the outermost pixels lies outside.
    """
    left, right, bottom, top = extent
    half = (right - left) / (p.shape[1] - 1) / 2, (top - bottom) / (p.shape[0] - 1) / 2
    image = ax.imshow(
        p,
        extent=(left - half[0], right + half[0], bottom - half[1], top + half[1]),
        origin="lower",
        aspect="auto",
        cmap=P_NORMAL,
        vmin=0,
        vmax=1,
        interpolation="bilinear",
    )
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    return image


def with_feature_names(est: Detector, X: np.ndarray) -> np.ndarray | pd.DataFrame:
    """Return X with the column names of the fit, if the fit had a data frame.

    Without these names scikit-learn warns of an array.
    """
    columns = est.fit_.data.columns
    return X if columns.names is None else pd.DataFrame(X, columns=columns.labels)


def require_center(est: Detector) -> Fit:
    """Return the fit; an error if ``est`` is no estimator, or has no distance from a centre."""
    if not isinstance(est, Detector):
        raise TypeError(
            f"the first argument must be a fitted estimator, got {type(est).__name__}; the second "
            "one has the rows"
        )
    if not hasattr(est, "distance"):
        raise ValueError(
            f"{type(est).__name__} has a hyperplane and no distance from a centre to show; "
            "plot_boundary shows it"
        )
    check_is_fitted(est)
    return est.fit_


def surprise_axis(ax: Axes, surprise: np.ndarray, low: np.ndarray | None = None) -> None:
    """Make the axis y of surprises logarithmic above most of them, if some are far larger.

    ``low`` are the lower ends of intervals, if these are shown.
    """
    finite = surprise[np.isfinite(surprise)]
    near = max(float(np.quantile(np.abs(finite), 0.9)), 1.0) if len(finite) else 1.0
    largest = float(finite.max(initial=0.0))
    if largest <= FAR_ROWS * near:
        return
    bend = 2.0 * near
    ends = finite if low is None else low[np.isfinite(low)]
    least = min(1.2 * float(ends.min(initial=finite.min())), -1.0)
    ax.set_yscale("symlog", linthresh=bend, linscale=2.0)
    ax.set_ylim(least, 1.6 * largest)
    straight: Any = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(max(least, -bend), bend)
    straight = straight[(straight >= max(least, -bend)) & (straight <= bend)]
    below, above = [-v for v in _beyond(bend, -least)], _beyond(bend, 1.6 * largest)
    ticks = [*below[::-1], *straight, *above]
    ax.set_yticks(ticks, [f"{v + 0.0:,g}" for v in ticks])
    ax.minorticks_off()


def _beyond(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic axis between two numbers: at most some six."""
    if high <= low:
        return []
    powers = np.arange(np.floor(np.log10(low)), np.floor(np.log10(high)) + 1)
    steps = (1.0,) if len(powers) > 2 else (1.0, 2.0, 5.0)
    powers = powers[:: -(-len(powers) // POWERS)]
    found = np.outer(10.0**powers, steps).ravel()
    chosen: list[float] = found[(found > 1.2 * low) & (found <= high)].tolist()
    return chosen
