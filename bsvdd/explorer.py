"""Change a prior in Jupyter and see at once what it changes: widgets that run when they are moved.

As an app: ``voila notebook.ipynb``, with ``bsvdd.explore(X, y, own=False)`` in a cell.
"""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.base import clone

from .base.messages import of_value
from .estimators.bayesian import BSVDD, BSVDDM, Bayesian
from .inference import cutoffs
from .inference.cutoffs import FalseAlarm
from .models import kernels, priors
from .models.kernels import as_kernel
from .plots.common import MAJORITY, MINORITY, P_NORMAL, PRIOR, by_class, points
from .tables.labels import classes_of

FAMILIES = (
    "StandardizedRowSum",
    "Flat",
    "EqualWeights",
    "RowSum",
    "InverseRowSum",
    "SVDDWeights",
)
SHAPES = {"RBF": kernels.RBF, "Laplacian": kernels.Laplacian}
RATE = 0.1  # of the slider at its start, where the cutoff is that of the first fit
GRID = 48  # points of the map along each axis
COLORS = {"now": MAJORITY, "before": PRIOR}
IMPORTS = "import bsvdd\nfrom bsvdd import cutoffs, kernels, priors"


def explore(X: Any, y: Any = None, est: Any = None, *, own: bool = True) -> Explorer:
    """Show in Jupyter how prior, kernel and cutoff change posterior and decision.

    The controls are the family of the prior and its numbers, a prior of one's own as
    code, the kernel and its bandwidth, the rate of false alarms, and a row. The setting
    before is shown in grey beside the setting now. A change of the prior samples anew,
    and a change of the cutoff fits nothing.

    Parameters
    ----------
    X : array-like of shape (n, p), or data frame
        Training rows. Two columns are shown as a map of P(normal), others by their
        surprises.
    y : array-like of shape (n,), optional
        Labels, with the rules of ``fit``.
    est : estimator with a posterior, optional
        Default: ``BSVDD()``, with labels ``BSVDDM()``.
    own : bool, default=True
        Whether a prior can be typed as Python code, which is run. Switch it off where
        others open the page.

    Returns
    -------
    Explorer
        Shown as the last line of a cell. ``est`` is the fitted estimator of the setting
        now, ``before`` that of the setting before, and ``code`` makes the former.

    Raises
    ------
    ImportError
        ipywidgets is not installed.
    ValueError, TypeError
        The errors of ``fit``; an estimator without a posterior.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> explorer = bsvdd.explore(X, est=bsvdd.BDD())
    >>> explorer.controls["rate"].value = 0.2
    >>> explorer.est.cutoff, explorer.before.cutoff
    (FalseAlarm(rate=0.2), None)
    """
    est = (BSVDD() if y is None else BSVDDM()) if est is None else est
    if not isinstance(est, Bayesian):
        raise TypeError(
            f"explore shows a posterior, which {type(est).__name__} has not; use "
            "BSVDD, BDD, BSVDDM or BDDM"
        )
    return Explorer(est, X, y, own)


@dataclass(frozen=True, eq=False)
class Setting:
    """A fitted estimator, and what it answers about its training rows, each left out, and a map."""

    est: Bayesian
    decision: pd.DataFrame
    margins: np.ndarray
    worth: pd.Series
    map: np.ndarray

    @classmethod
    def of(cls, est: Bayesian, grid: pd.DataFrame) -> Self:
        """Return the setting of an estimator, with P(normal) on a grid, which may be empty."""
        P = est.probability_normal(grid) if len(grid) else np.empty(0)
        return cls(est, est.decision(), est.margins(), est.summary()["posterior"], P)


class Explorer:
    """The controls, the picture and the numbers of two settings; made by :func:`bsvdd.explore`."""

    def __init__(self, est: Bayesian, X: Any, y: Any, own: bool) -> None:
        import ipywidgets as w

        self.X = X
        self.y = y
        self._w = w
        self._own: tuple[str, Any] = "", None
        self._first: Bayesian = clone(est).fit(X, y)
        self._picture = Picture(self._first, classes_of(y, len(X), est.minor_label)[0])
        self.now = Setting.of(self._first, self._picture.grid)
        self.past: Setting | None = None
        self.controls = self._controls(own)
        self.numbers = w.VBox()
        self._image = w.Image(format="png")
        self._table = w.HTML()
        self._said = w.HTML()
        self._code = w.Textarea(rows=5, layout=w.Layout(width="95%"), disabled=True)
        self._show_numbers()
        for name, control in self.controls.items():
            control.add_class(f"bsvdd-{name}")
            control.observe(self._moved, "value")
        self._image.add_class("bsvdd-picture")
        prior, *others = self.controls.values()
        left = w.VBox([prior, self.numbers, *others, self._said])
        self.box = w.VBox([w.HBox([left, self._image]), self._table, self._code])
        self._show()

    @property
    def est(self) -> Bayesian:
        """The fitted estimator of the setting now."""
        return self.now.est

    @property
    def before(self) -> Bayesian | None:
        """The fitted estimator of the setting before; None at the start."""
        return None if self.past is None else self.past.est

    def _repr_mimebundle_(self, **how: Any) -> Any:
        return self.box._repr_mimebundle_(**how)

    def _controls(self, own: bool) -> dict[str, Any]:
        w = self._w
        how = {"style": {"description_width": "90px"}}
        slow = {"continuous_update": False, **how}
        family = type(self.est.prior).__name__
        shape = type(self.est.kernel_.inner).__name__
        families = [family, *(f for f in FAMILIES if f != family)]
        shapes = (
            [shape, *(s for s in SHAPES if s != shape)] if shape in SHAPES else [shape]
        )
        steps: dict[str, Any] = {"min": -1.0, "max": 1.0, "step": 0.05}
        rates: dict[str, Any] = {"min": 0.01, "max": 0.5, "step": 0.01}
        found = {
            "prior": w.Dropdown(options=families, description="prior", **how),
            "own": w.Text(
                description="own prior", placeholder="priors.Flat(sd=0.3)", **slow
            ),
            "kernel": w.Dropdown(options=shapes, description="kernel", **how),
            "bandwidth": w.FloatLogSlider(
                1.0, **steps, description="bandwidth ×", **slow
            ),
            "rate": w.FloatSlider(RATE, **rates, description="false alarms", **slow),
            "row": w.IntSlider(
                0, min=0, max=len(self.X) - 1, description="row", **slow
            ),
        }
        return (
            found
            if own
            else {name: each for name, each in found.items() if name != "own"}
        )

    def _show_numbers(self) -> None:
        """Show a slider for each number of the family of priors."""
        start = self._family
        sliders = []
        for name in _numbers(start):
            slider = self._w.FloatLogSlider(
                getattr(start, name), min=-2, max=1, step=0.1, description=name,
                continuous_update=False, style={"description_width": "90px"},
            )  # fmt: skip
            slider.add_class(f"bsvdd-{name}")
            slider.observe(self._moved, "value")
            sliders.append(slider)
        self.numbers.children = tuple(sliders)

    # what the controls ask for

    @property
    def _family(self) -> Any:
        """A prior of the family that is chosen, with the numbers of the first fit if it is its."""
        name = self.controls["prior"].value
        first = self._first.prior
        return first if type(first).__name__ == name else getattr(priors, name)()

    @property
    def _prior(self) -> Any:
        text = self.controls["own"].value.strip() if "own" in self.controls else ""
        if not text:
            numbers = {
                slider.description: _short(slider) for slider in self.numbers.children
            }
            return replace(self._family, **numbers) if numbers else self._family
        if text != self._own[0]:
            import pymc as pm

            self._own = text, eval(text, {"priors": priors, "pm": pm, "np": np})
        return self._own[1]

    @property
    def _kernel(self) -> Any:
        asked = self._first.kernel
        inner = self._first.kernel_.inner
        shape = self.controls["kernel"].value
        factor = _short(self.controls["bandwidth"])
        if shape not in SHAPES or (shape == type(inner).__name__ and factor == 1.0):
            return asked
        new = SHAPES[shape](bandwidth=float(f"{factor * inner.bandwidth:.4g}"))
        return as_kernel(asked).with_inner(new)

    @property
    def _cutoff(self) -> Any:
        rate = round(self.controls["rate"].value, 4)
        return self._first.cutoff if rate == RATE else FalseAlarm(rate)

    def _fitted(self) -> Bayesian:
        """Return the estimator of the controls, of which only what is new is made."""
        est = self.est
        prior = self._prior
        kernel = self._kernel
        cutoff = self._cutoff
        if repr(kernel) != repr(est.kernel):
            own = {"kernel": kernel, "prior": prior, "cutoff": cutoff}
            return clone(self._first).set_params(**own).fit(self.X, self.y)
        if prior is not est.prior and repr(prior) != repr(est.prior):
            est = est.with_prior(prior)
        return est if cutoff == est.cutoff else est.with_cutoff(cutoff)

    # what is shown

    def _moved(self, change: Any) -> None:
        if change["owner"] is self.controls["prior"]:
            self._show_numbers()
        self._say("fitting ...")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                new = self._fitted()
            except Exception as error:  # of the user's own prior, whatever it is
                self._say(f"{type(error).__name__}: {error}")
                return
            if new is not self.est:
                self.past, self.now = self.now, Setting.of(new, self._picture.grid)
            self._show()
        self._say("\n".join(dict.fromkeys(str(each.message) for each in caught)))

    def _say(self, text: str) -> None:
        self._said.value = (
            f'<pre class="bsvdd-said">{html.escape(textwrap.fill(text, 45))}</pre>'
        )

    def _show(self) -> None:
        row = self.controls["row"].value
        both = {"before": self.past} if self.past else {}
        both["now"] = self.now
        self._image.value = self._picture.drawn(both, row)
        of_row = pd.DataFrame(
            {name: each.decision.iloc[row] for name, each in both.items()}
        )
        worth = pd.DataFrame({name: each.worth for name, each in both.items()})
        tables = [
            each.map(of_value, digits=4).to_html(border=0) for each in (of_row, worth)
        ]
        self._table.value = f'<div style="display:flex;gap:3em">{"".join(tables)}</div>'
        self._code.value = self.code

    @property
    def code(self) -> str:
        """Python code that makes the estimator of the setting now, unfitted."""
        parameters = self.est.get_params(deep=False)
        defaults = type(self.est)().get_params(deep=False)
        changed = {n: v for n, v in parameters.items() if repr(v) != repr(defaults[n])}
        texts = {name: _qualified(repr(value)) for name, value in changed.items()}
        if self.est.prior is self._own[1]:
            texts["prior"] = self._own[0]
        arguments = ", ".join(f"{name}={text}" for name, text in texts.items())
        return f"{IMPORTS}\n\nest = bsvdd.{type(self.est).__name__}({arguments})"


class Picture:
    """A figure that is kept: rows or a map of P(normal), and the margins of one row."""

    def __init__(self, est: Bayesian, minority: np.ndarray) -> None:
        self.figure = Figure(figsize=(10.0, 3.8), dpi=90)
        FigureCanvasAgg(self.figure)
        self.left, self.right = self.figure.subplots(1, 2, width_ratios=[3, 2])
        self.figure.subplots_adjust(
            left=0.1, right=0.98, bottom=0.14, top=0.93, wspace=0.08
        )
        self.minority = minority
        self.grid = pd.DataFrame()  # of a map
        if not est.kernel_.pairwise and list(est.table_.kinds.values()) == [
            "numbers",
            "numbers",
        ]:
            self.rows = est.table_.frame.to_numpy(float)
            names = est.table_.frame.columns
            low = np.nanmin(self.rows, axis=0)
            high = np.nanmax(self.rows, axis=0)
            ends = np.array([low, high]) + 0.15 * np.outer([-1.0, 1.0], high - low)
            self.mesh = np.meshgrid(*np.linspace(ends[0], ends[1], GRID).T)
            self.grid = pd.DataFrame(np.reshape(self.mesh, (2, -1)).T, columns=names)

    def drawn(self, both: Mapping[str, Setting], row: int) -> bytes:
        """Return the picture of one setting, or of two, as PNG."""
        for ax in (self.left, self.right):
            ax.clear()
        if len(self.grid):
            self._map(both, row)
        else:
            self._surprises(both, row)
        self._margins({name: each.margins[:, row] for name, each in both.items()})
        file = io.BytesIO()
        self.figure.savefig(file, format="png")
        return file.getvalue()

    def _map(self, both: Mapping[str, Setting], row: int) -> None:
        for name, each in both.items():
            P = each.map.reshape(GRID, GRID)
            if name == "now":
                how: dict[str, Any] = {"vmin": 0, "vmax": 1, "shading": "gouraud"}
                self.left.pcolormesh(*self.mesh, P, cmap=P_NORMAL, **how)
            self.left.contour(*self.mesh, P, [0.5], colors=COLORS[name])
        points(
            self.left, self.rows[:, 0], self.rows[:, 1], by_class(self.minority), s=9
        )
        self.left.scatter(*self.rows[row], s=90, facecolors="none", edgecolors="black")
        x, y = map(str, self.grid.columns)
        self.left.set(xlabel=x, ylabel=y, title="P(normal) and where it is .5")

    def _surprises(self, both: Mapping[str, Setting], row: int) -> None:
        for name, each in both.items():
            surprise = each.decision["surprise"].to_numpy()
            colors = np.where(self.minority & (name == "now"), MINORITY, COLORS[name])
            self.left.scatter(
                np.arange(len(surprise)), surprise, s=9, c=colors, label=name
            )
        self.left.axhline(0.0, color="black", linewidth=0.8)
        self.left.axvline(row, color="black", linewidth=0.8, linestyle=":")
        self.left.set_yscale("symlog", linthresh=5.0)
        self.left.set(xlabel="row", ylabel="surprise; above 0: abnormal")

    def _margins(self, margins: Mapping[str, np.ndarray]) -> None:
        every = np.concatenate(list(margins.values()))
        low, high = np.quantile(every[np.isfinite(every)], [0.005, 0.995])
        bins = np.linspace(low, high, 40)
        for name, of_row in margins.items():
            shown = f"{name}: P(normal) {(of_row >= 0.0).mean():.2f}"
            inside = np.clip(of_row, bins[0], bins[-1])
            how: dict[str, Any] = {
                "histtype": "step" if name == "before" else "stepfilled"
            }
            self.right.hist(
                inside, bins, color=COLORS[name], alpha=0.7, label=shown, **how
            )
        self.right.axvline(0.0, color="black", linewidth=0.8)
        self.right.set(xlabel="margin of the row; right of 0: normal", yticks=[])
        self.right.legend(fontsize=8)


def _numbers(prior: Any) -> list[str]:
    """Return the names of the positive numbers of a prior, if it is a value of this package."""
    values = vars(prior) if is_dataclass(prior) else {}
    return [name for name, v in values.items() if isinstance(v, int | float) and v > 0]


def _short(slider: Any) -> float:
    return float(f"{slider.value:.4g}")


def _qualified(text: str) -> str:
    """Return the repr of a kernel, a prior or a cutoff as code."""
    for module, name in (
        (kernels, "kernels"),
        (priors, "priors"),
        (cutoffs, "cutoffs"),
    ):
        classes = "|".join(module.__all__)
        text = re.sub(rf"(?<![\w.])({classes})(?=\()", rf"{name}.\1", text)
    return text
