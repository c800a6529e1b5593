"""Change a prior and see at once what it changes: the explorer, for Jupyter.

The state of the controls is an :class:`.state.ExplorerState`. :mod:`.view` computes the numbers,
:mod:`.panels` draws the picture, and :mod:`.worker` delivers only the newest request.
"""

from __future__ import annotations

import html
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from ..estimators.bayesian import BayesianDataDescription
from ..inference.cancellation import checkpoint
from . import panels, summary
from .controls import control
from .plane import Plane
from .ranges import Range
from .refit import FitResult, refit
from .start import first_fit
from .state import CRITERIA_WITHOUT_MINORITY, LABELS, ExplorerState, models
from .view import View
from .worker import LatestWorker

WAIT = 600.0  # seconds, the default timeout of wait()
PENDING = "bsvdd-pending"  # makes the picture pale while it is not that of the controls
STYLE = f"<style>.{PENDING} .bsvdd-picture, .{PENDING} .bsvdd-numbers {{opacity: 0.4}}</style>"


def explore(
    X: Any,
    y: Any = None,
    *,
    minor_label: Any = None,
    standardize: bool = True,
    dictionary: int | None = None,
    draws: int = 1000,
    chains: int = 2,
    random_state: int = 0,
) -> Explorer:
    """Show in Jupyter how prior, kernel, likelihood and cutoff change posterior and decision.

    After each change of a control, the model is fitted and drawn; the setting before stays in
    grey. A change of numbers of the prior or the likelihood compiles nothing, and a change of the
    cutoff fits nothing. The first fit is made at once.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Training rows. If p > 2, they are shown on the plane of their first two principal
        components.
    y : array-like of shape (n,), optional
        Labels, with the rules of ``fit``. Models that learn from minority rows, and cutoffs that
        count misses, need minority rows.
    minor_label : optional
        Label of the minority in y.
    standardize : bool, default=True
        Scale each column by the majority rows; the bandwidth is then in standard deviations.
    dictionary : int, optional
        Number of landmarks, instead of all rows. Use it for more than about 1,000 rows.
    draws, chains : int, default=1000, 2
    random_state : int, default=0

    Returns
    -------
    Explorer
        Shown as the last line of a cell. ``.estimator`` is the fitted estimator on the screen,
        and ``.code()`` is its constructor call.

    Raises
    ------
    ImportError
        ipywidgets is not installed.
    ValueError, TypeError
        The errors of ``fit`` for X and y.

    Examples
    --------
    >>> import bsvdd
    >>> from bsvdd.comparison import datasets
    >>> data = datasets.embedded("wine_cultivar3")
    >>> explorer = bsvdd.explore(data.X, data.minority)
    >>> explorer.change(sd=2.0)
    >>> explorer.wait().estimator.prior
    InverseRowSum(sd=2.0, power=0.5)
    """
    try:
        import ipywidgets  # noqa: F401  its absence is an error before the fit, not after it
    except ImportError as error:
        raise ImportError(
            "bsvdd.explore needs ipywidgets, which comes with the extra jupyter: "
            "pip install 'bsvdd[jupyter]'"
        ) from error
    if dictionary is not None and (isinstance(dictionary, bool) or not isinstance(dictionary, int)):
        raise TypeError(f"dictionary must be a number of landmarks or None, got {dictionary!r}")
    options: dict[str, Any] = {
        "standardize": standardize,
        "dictionary": dictionary,
        "draws": draws,
        "chains": chains,
        "random_state": random_state,
        "minor_label": minor_label.item() if isinstance(minor_label, np.generic) else minor_label,
    }
    return Explorer(X, y, options)


@dataclass(frozen=True, eq=False)
class _Screen:
    """All that one request puts on the screen."""

    fit: FitResult
    view: View
    picture: bytes
    seconds: float


class Explorer:
    """The controls and the picture, as :func:`bsvdd.explore` returns them.

    Attributes
    ----------
    widget : ipywidgets.Widget
        Controls, picture and numbers.
    controls : dict of str: ipywidgets.Widget
        The control of each field of :class:`bsvdd.explorer.state.ExplorerState`.
    ranges : dict of str: Range
        The numbers that each slider can reach.
    choices : dict of str: tuple
        The values that each other control can take.
    """

    def __init__(self, X: Any, y: Any, options: dict[str, Any]):
        self._X, self._y = X, y
        self._fit, start, bandwidth_limits = first_fit(X, y, options)
        self._plane = Plane.of(self._fit.est)
        self._grid = self._plane.grid()[2]
        self._view = View.of(start, self._fit, self._grid)
        self._before: View | None = None
        minority = self._view.minority
        self.ranges = ExplorerState.RANGES | {
            "bandwidth": bandwidth_limits,
            "row": Range(0, len(minority) - 1, 1, whole=True),
        }
        self.choices = ExplorerState.choices()
        if not minority.any():
            self.choices["criterion"] = CRITERIA_WITHOUT_MINORITY
            self.choices["model"] = tuple(
                name for name, record in models().items() if "minority" not in record.learns_from
            )
        self._requested = start
        self._paused = False
        self._worker = LatestWorker(self._show, self._show_error)
        self._make_widgets()
        picture = panels.draw(self._plane, self._view, None)
        self._show(_Screen(self._fit, self._view, picture, 0.0))

    @property
    def estimator(self) -> BayesianDataDescription:
        """The fitted estimator on the screen."""
        return self._view.est

    @property
    def setting(self) -> ExplorerState:
        """The state of the controls that the screen shows."""
        return self._view.state

    @property
    def before(self) -> ExplorerState | None:
        """The setting before, which the screen shows in grey."""
        return None if self._before is None else self._before.state

    @property
    def picture(self) -> bytes:
        """The picture on the screen, as PNG."""
        return bytes(self._image.value)

    def code(self) -> str:
        """Return the constructor call of the estimator on the screen."""
        return self.setting.code()

    def change(self, **values: Any) -> None:
        """Set several controls in one step.

        Raises
        ------
        ValueError, TypeError
            There is no such control, or it cannot take the value; no control changes then.
        """
        unknown = set(values) - set(self.controls)
        if unknown:
            raise ValueError(f"no controls {sorted(unknown)}; there are {sorted(self.controls)}")
        for name, value in values.items():
            if name in self.ranges:
                self.ranges[name].check(name, value)
            elif value not in self.choices[name]:
                raise ValueError(f"{name} must be one of {list(self.choices[name])}, got {value!r}")
        self._paused = True
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:
            self._paused = False
        self._request()

    def wait(self, timeout: float = WAIT) -> Self:
        """Wait until the picture shows the state of the controls, and return this explorer.

        Raises
        ------
        TimeoutError
            The picture is not ready after ``timeout`` seconds.
        """
        self._worker.join(timeout)
        return self

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    # the controls

    def _make_widgets(self) -> None:
        import ipywidgets as w

        self.controls = {
            name: control(name, getattr(self._requested, name), self.choices, self.ranges)
            for name in LABELS
        }
        for widget in self.controls.values():
            widget.observe(lambda _: self._request(), names="value")
        copy_button = w.Button(description="Copy as code", icon="copy")
        copy_button.add_class("bsvdd-copy")
        copy_button.on_click(lambda _: self._show_code())
        self._code = w.Textarea(layout=w.Layout(width="100%", height="165px", display="none"))
        self._code.add_class("bsvdd-code")
        self._status, self._messages, self._numbers = w.HTML(), w.HTML(), w.HTML()
        self._image = w.Image(format="png", layout=w.Layout(max_width="100%"))
        self._image.add_class("bsvdd-picture")
        left = w.VBox(
            [*self.controls.values(), self._status, copy_button],
            layout=w.Layout(width="345px", flex="0 0 auto", padding="0 12px 0 0"),
        )
        right = w.VBox(
            [self._messages, self._image, self._numbers, self._code],
            layout=w.Layout(flex="1 1 0%", min_width="0", overflow="hidden"),
        )
        self.widget = w.HBox([left, right, w.HTML(STYLE)])
        self.widget.add_class("bsvdd-explorer")
        self._show_relevant()

    def _read_controls(self) -> ExplorerState:
        values = {name: widget.value for name, widget in self.controls.items()}
        values |= {name: limits.rounded(values[name]) for name, limits in self.ranges.items()}
        return replace(self._requested, **values)

    def _show_relevant(self) -> None:
        for name, widget in self.controls.items():
            widget.layout.display = None if name in self._requested.relevant else "none"

    # from a change to a picture

    def _request(self) -> None:
        """Request the picture of the controls, unless it is requested already."""
        if self._paused:
            return
        state = self._read_controls()
        if state == self._requested:
            return
        self._requested = state
        self._show_relevant()
        with self._worker.lock:  # an older result must not set "up to date" in between
            self.widget.add_class(PENDING)
            self._set_status("fitting …", "bsvdd-busy")
            self._worker.request(partial(self._compute, state, self._fit, self._view))

    def _compute(self, state: ExplorerState, fit: FitResult, current: View) -> _Screen:
        """Return the screen of ``state``; ``fit`` and ``current`` are on the screen now."""
        start = time.perf_counter()
        fit = refit(state.estimator(), fit, self._X, self._y)
        checkpoint()
        view = View.of(state, fit, self._grid, current)
        checkpoint()
        before = current if current.state != state else self._before
        picture = panels.draw(self._plane, view, before)
        return _Screen(fit, view, picture, time.perf_counter() - start)

    def _show(self, screen: _Screen) -> None:
        self._fit, view = screen.fit, screen.view
        if view.state != self._view.state:
            self._before = self._view
        self._view = view
        self._image.value = screen.picture
        self._numbers.value = summary.tables(view, self._before, self._plane)
        self._messages.value = "".join(summary.message("warning", w) for w in view.warnings)
        if self._code.layout.display != "none":
            self._show_code()
        self.widget.remove_class(PENDING)
        seconds = f", in {screen.seconds:.2f} s" if screen.seconds else ""
        self._set_status(f"up to date{seconds}", "bsvdd-ready")

    def _show_error(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}. The picture shows the last setting without error."
        self._messages.value = summary.message("error", text)
        self._set_status("not up to date", "bsvdd-failed")

    def _set_status(self, text: str, css_class: str) -> None:
        self._status.value = f'<span class="bsvdd-status {css_class}">{html.escape(text)}</span>'

    def _show_code(self) -> None:
        model = type(self.estimator)
        package = __name__.partition(".")[0]
        if self.setting.is_published:
            imports = "from bsvdd import as_published, kernels\n"
        elif model.__module__.startswith(f"{package}."):
            imports = f"from bsvdd import {model.__name__}, Cutoff, kernels, priors\n"
        else:  # a user's own model
            imports = (
                "from bsvdd import Cutoff, kernels, priors\n"
                f"from {model.__module__} import {model.__name__}\n"
            )
        self._code.value = f"{imports}\nest = {self.code()}\nest.fit(X, y)\n"
        self._code.layout.display = None
