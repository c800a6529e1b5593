"""Change a prior in Jupyter and see at once what it changes.

As an app: ``voila notebook.ipynb``, with ``bsvdd.explore(X, y, own=False)`` in a cell.
"""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

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
from .plots.common import DARK, PRIOR, by_class, draw_surprises, scatter
from .plots.draws import draw_margins
from .plots.rows import draw_map, mesh_of
from .tables.labels import classes_of

if TYPE_CHECKING:
    import ipywidgets
    from numpy.typing import ArrayLike

    from .models.priors import PriorLike

FAMILIES = {
    each.__name__: each
    for each in (
        priors.StandardizedRowSum,
        priors.Flat,
        priors.EqualWeights,
        priors.RowSum,
        priors.InverseRowSum,
        priors.SVDDWeights,
    )
}
KERNELS = {"RBF": kernels.RBF, "Laplacian": kernels.Laplacian}
FIRST_RATE = 0.1  # of the slider, where the cutoff is the cutoff of the first fit
MESH = 48  # steps of the map along each axis
IMPORTS = "import bsvdd\nfrom bsvdd import cutoffs, kernels, priors"
SLOW = {"continuous_update": False}  # a slider that says its last value only
LABEL_WIDTH = {"style": {"description_width": "90px"}}


def explore(
    X: ArrayLike,
    y: ArrayLike | None = None,
    est: Bayesian | None = None,
    *,
    own: bool = True,
) -> Explorer:
    """Show in Jupyter how prior, kernel and cutoff change posterior and decision.

    The controls are the family of the prior and its numbers, a prior of one's own as
    code, the kernel and its bandwidth, the rate of false alarms, and a row. The setting
    before is grey beside the setting now. A change of the prior samples anew, and a
    change of the cutoff fits nothing.

    Parameters
    ----------
    X : array-like of shape (n, p), or data frame
        Training rows. Two columns are shown as a map of P(normal), others by their
        surprises.
    y : array-like of shape (n,), optional
        Labels, read as ``fit`` reads them.
    est : estimator with a posterior, optional
        Default: ``BSVDD()``, with labels ``BSVDDM()``.
    own : bool, default=True
        Whether a prior can be typed as Python code, which is run. Switch it off where
        others open the page.

    Returns
    -------
    Explorer
        Shown as the last line of a cell. ``est`` is the fitted estimator of the setting
        now, ``before`` is the estimator of the setting before, and ``code`` makes
        ``est``.

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
    """A fitted estimator with its answers.

    Attributes
    ----------
    est : fitted estimator
    decision : pandas.DataFrame
        Of the training rows, each left out.
    margins : ndarray of shape (draws, n)
        Of the training rows, each left out.
    summary : pandas.Series
        The posterior medians of ``est.summary()``.
    map : ndarray of shape (m,)
        P(normal) on a grid, which may be empty.
    """

    est: Bayesian
    decision: pd.DataFrame
    margins: np.ndarray
    summary: pd.Series
    map: np.ndarray

    @classmethod
    def of(cls, est: Bayesian, grid: pd.DataFrame) -> Self:
        """Return the setting of an estimator, with P(normal) on ``grid``."""
        P = est.probability_normal(grid) if len(grid) else np.empty(0)
        return cls(est, est.decision(), est.margins(), est.summary()["posterior"], P)


class Explorer:
    """The controls, the picture and the numbers of two settings.

    :func:`bsvdd.explore` makes it.

    Parameters
    ----------
    est : estimator with a posterior
        Not fitted.
    X : array-like of shape (n, p), or data frame
        Training rows.
    y : array-like of shape (n,) or None
        Labels.
    own : bool
        Whether a prior can be typed as Python code.

    Attributes
    ----------
    controls : dict of ipywidgets.Widget
        "prior", "own", "kernel", "bandwidth", "rate" and "row".
    numbers : ipywidgets.VBox
        A slider for each number of the prior.
    """

    def __init__(
        self, est: Bayesian, X: ArrayLike, y: ArrayLike | None, own: bool
    ) -> None:
        import ipywidgets as w

        self.X = X
        self.y = y
        self._own: tuple[str, object] = ("", None)
        self._first: Bayesian = clone(est).fit(X, y)
        n = len(self._first.table_.frame)
        self._picture = Picture(self._first, classes_of(y, n, est.minor_label)[0])
        self.now = Setting.of(self._first, self._picture.grid)
        self.past: Setting | None = None
        self.controls = self._controls(n)
        if not own:
            del self.controls["own"]
        self.numbers = w.VBox()
        self._image = w.Image(format="png")
        self._table = w.HTML()
        self._said = w.HTML()
        self._code = w.Textarea(rows=5, layout=w.Layout(width="95%"), disabled=True)
        self._show_numbers()
        for name, control in self.controls.items():
            self._watch(name, control)
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

    def _repr_mimebundle_(self, **how: object) -> dict[str, object]:
        return self.box._repr_mimebundle_(**how)

    def _controls(self, n: int) -> dict[str, ipywidgets.Widget]:
        """Return the controls by name; n is the number of rows."""
        import ipywidgets as w

        family = type(self.est.prior).__name__
        kernel = type(self.est.kernel_.inner).__name__
        families = dict.fromkeys([family, *FAMILIES])
        shapes = dict.fromkeys([kernel, *(KERNELS if kernel in KERNELS else ())])
        slow = SLOW | LABEL_WIDTH
        factors = {"min": -1.0, "max": 1.0, "step": 0.05} | slow
        rates = {"min": 0.01, "max": 0.5, "step": 0.01} | slow
        hint = "priors.Flat(sd=0.3)"
        return {
            "prior": w.Dropdown(
                options=[*families], description="prior", **LABEL_WIDTH
            ),
            "own": w.Text(description="own prior", placeholder=hint, **slow),
            "kernel": w.Dropdown(
                options=[*shapes], description="kernel", **LABEL_WIDTH
            ),
            "bandwidth": w.FloatLogSlider(1.0, description="bandwidth ×", **factors),
            "rate": w.FloatSlider(FIRST_RATE, description="false alarms", **rates),
            "row": w.IntSlider(0, min=0, max=n - 1, description="row", **slow),
        }

    def _watch(self, name: str, control: ipywidgets.Widget) -> None:
        control.add_class(f"bsvdd-{name}")
        control.observe(self._moved, "value")

    def _show_numbers(self) -> None:
        """Show a slider for each number of the family of priors."""
        import ipywidgets as w

        powers = {"min": -2, "max": 1, "step": 0.1} | SLOW | LABEL_WIDTH
        self.numbers.children = [
            w.FloatLogSlider(value, description=name, **powers)
            for name, value in _numbers(self._family).items()
        ]
        for slider in self.numbers.children:
            self._watch(slider.description, slider)

    # what the controls ask for

    @property
    def _family(self) -> PriorLike:
        """The prior of the first fit if it has the family, else one of the family."""
        name = self.controls["prior"].value
        first = self._first.prior
        return first if type(first).__name__ == name else FAMILIES[name]()

    @property
    def _prior(self) -> PriorLike:
        text = self.controls["own"].value.strip() if "own" in self.controls else ""
        if not text:
            numbers = {each.description: _short(each) for each in self.numbers.children}
            family: Any = self._family
            return cast("PriorLike", replace(family, **numbers) if numbers else family)
        if text != self._own[0]:
            import pymc as pm

            self._own = (text, eval(text, {"priors": priors, "pm": pm, "np": np}))
        return cast("PriorLike", self._own[1])

    @property
    def _kernel(self) -> object:
        asked = self._first.kernel
        inner: Any = self._first.kernel_.inner
        shape = self.controls["kernel"].value
        factor = _short(self.controls["bandwidth"])
        if shape not in KERNELS or (shape == type(inner).__name__ and factor == 1.0):
            return asked
        new = KERNELS[shape](bandwidth=float(f"{factor * inner.bandwidth:.4g}"))
        return as_kernel(asked).with_inner(new)

    @property
    def _cutoff(self) -> cutoffs.AnyCutoff | None:
        rate = round(self.controls["rate"].value, 4)
        return self._first.cutoff if rate == FIRST_RATE else FalseAlarm(rate)

    def _fitted(self) -> Bayesian:
        """Return the estimator of the controls; only what changed is made again."""
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

    def _moved(self, change: dict[str, object]) -> None:
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
                now = Setting.of(new, self._picture.grid)
                self.past = self.now
                self.now = now
            self._show()
        self._say("\n".join(dict.fromkeys(str(each.message) for each in caught)))

    def _say(self, text: str) -> None:
        self._said.value = (
            f'<pre class="bsvdd-said">{html.escape(textwrap.fill(text, 45))}</pre>'
        )

    def _show(self) -> None:
        row = self.controls["row"].value
        self._image.value = self._picture.drawn(row, self.now, self.past)
        both = {"before": self.past} if self.past else {}
        both["now"] = self.now
        tables = (
            {name: each.decision.iloc[row] for name, each in both.items()},
            {name: each.summary for name, each in both.items()},
        )
        texts = (pd.DataFrame(each).map(of_value, digits=4) for each in tables)
        shown = "".join(each.to_html(border=0) for each in texts)
        self._table.value = f'<div style="display:flex;gap:3em">{shown}</div>'
        self._code.value = self.code

    @property
    def code(self) -> str:
        """Python code that makes the estimator of the setting now, unfitted."""
        defaults = type(self.est)().get_params(deep=False)
        texts = {
            name: _qualified(repr(value))
            for name, value in self.est.get_params(deep=False).items()
            if repr(value) != repr(defaults[name])
        }
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
        self.classes = by_class(minority)
        self.grid = pd.DataFrame()  # of a map
        table = est.table_
        if not est.kernel_.pairwise and [*table.kinds.values()] == ["numbers"] * 2:
            self.rows = table.frame.to_numpy(float)
            self.mesh = mesh_of(self.rows, MESH)
            grid = np.reshape(self.mesh, (2, -1)).T
            self.grid = pd.DataFrame(grid, columns=table.frame.columns)

    def drawn(self, row: int, now: Setting, before: Setting | None) -> bytes:
        """Return the picture of one setting, or of two, as PNG."""
        self.left.clear()
        self.right.clear()
        if len(self.grid):
            self._map(row, now, before)
        else:
            self._surprises(row, now, before)
        margins = [each.margins[:, row] for each in (now, before) if each]
        shares = [f"{(each >= 0.0).mean():.2f}" for each in margins]
        draw_margins(self.right, *margins)
        self.right.set_title(f"P(normal) = {', before '.join(shares)}")
        file = io.BytesIO()
        self.figure.savefig(file, format="png")
        return file.getvalue()

    def _map(self, row: int, now: Setting, before: Setting | None) -> None:
        P = now.map.reshape(MESH, MESH)
        draw_map(self.left, *self.mesh, P)
        if before is not None:
            past = before.map.reshape(MESH, MESH)
            self.left.contour(*self.mesh, past, [0.5], colors=PRIOR)
        self.left.contour(*self.mesh, P, [0.5], colors=DARK)
        scatter(self.left, self.rows[:, 0], self.rows[:, 1], self.classes, s=9)
        self.left.scatter(*self.rows[row], s=90, facecolors="none", edgecolors="black")
        x, y = map(str, self.grid.columns)
        self.left.set(xlabel=x, ylabel=y, title="P(normal) and where it is .5")

    def _surprises(self, row: int, now: Setting, before: Setting | None) -> None:
        if before is not None:
            past = before.decision["surprise"]
            self.left.scatter(np.arange(len(past)), past, s=9, color=PRIOR)
        draw_surprises(self.left, now.decision["surprise"].to_numpy(), self.classes)
        self.left.axhline(0.0, color=DARK, linewidth=0.8)
        self.left.axvline(row, color=DARK, linewidth=0.8, linestyle=":")


def _numbers(prior: object) -> dict[str, float]:
    """Return the positive numbers of a prior of this package by name."""
    values = vars(prior) if is_dataclass(prior) else {}
    return {
        name: v for name, v in values.items() if isinstance(v, int | float) and v > 0
    }


def _short(slider: ipywidgets.Widget) -> float:
    return float(f"{slider.value:.4g}")


def _qualified(text: str) -> str:
    """Return the repr of a kernel, a prior or a cutoff as code."""
    for module in (kernels, priors, cutoffs):
        classes = "|".join(module.__all__)
        name = module.__name__.rpartition(".")[2]
        text = re.sub(rf"(?<![\w.])({classes})(?=\()", rf"{name}.\1", text)
    return text
