"""Change a prior and see at once what it changes: the explorer, for Jupyter.

The state of the controls is an :class:`.state.ExplorerState`. :mod:`.view` computes the numbers,
:mod:`.panels` draws the picture, :mod:`.widgets` is the page, and :mod:`.worker` delivers only the
newest request.
"""

from __future__ import annotations

import copy
import os
import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd

from ..estimators import new_rows
from ..estimators.bayesian import Bayesian
from ..estimators.rows.categories import code
from ..estimators.rows.source import is_lazy
from ..inference.threads import checkpoint
from . import panels, summary
from .plane import Plane
from .ranges import Range
from .refit import FitResult, refit
from .start import first_fit
from .state import CRITERIA_WITHOUT_MINORITY, ExplorerState, models
from .typed_row import as_text, parsed
from .view import View
from .widgets import PENDING, Widgets
from .worker import LatestWorker

WAIT = 600.0  # seconds, the default timeout of wait()


def explore(
    X: Any,
    y: Any = None,
    *,
    minor_label: Any = None,
    standardize: bool = True,
    dictionary: int | str | None = "auto",
    draws: int = 1000,
    chains: int = 2,
    random_state: int = 0,
) -> Explorer:
    """Show in Jupyter how prior, kernel, likelihood and cutoff change posterior and decision.

    After each change of a control, the model is fitted and drawn; the setting before stays in
    grey. A click on a row of the picture shows why the row is normal or abnormal. A change of
    numbers of the prior or the likelihood compiles nothing, and a change of the cutoff fits
    nothing. The first fit is made at once.

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
        Take ``kernels.Tabular``, whose bandwidth is in standard deviations of the majority rows.
    dictionary : int, "auto" or None, default="auto"
        Number of landmarks; None takes all rows, and "auto" does so up to 3,000 rows. Use a number
        for more than about 1,000 rows.
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
        anywidget or ipywidgets is not installed.
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
    Flat(sd=2.0)
    """
    try:  # their absence is an error before the fit, not after it
        import anywidget  # noqa: F401
        import ipywidgets  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "bsvdd.explore needs anywidget and ipywidgets, which come with the extra jupyter: "
            "pip install 'bsvdd[jupyter]'"
        ) from error
    is_number = isinstance(dictionary, int) and not isinstance(dictionary, bool)
    if not (is_number or dictionary in ("auto", None)):
        raise TypeError(
            f'dictionary must be a number of landmarks, "auto" or None, got {dictionary!r}'
        )
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
    pinned: bool  # whether the picture has the plane of the pinned setting
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
        self._X, self._y = _own(X), _own(y)
        self._fit, start, bandwidth_limits = first_fit(self._X, self._y, options)
        self._categories = _categories(self._X, self._fit.est)
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
                name for name, record in models().items() if not record.needs_minority
            )
        self._requested = start
        self._paused = False
        self._own_prior: Any = None
        self._z: tuple[float, ...] | None = None
        self._pinned_is_shown = False
        self._typed_point: tuple[int, Any] | None = None
        self._pinned: View | None = None
        self._since = 0.0
        self._worker = LatestWorker(self._show, self._show_error)
        self._widgets = Widgets(start, self.choices, self.ranges)
        self.controls, self.widget = self._widgets.controls, self._widgets.page
        if self._view.est.fit_.data.names is not None:
            self.controls["row"].description = "point z: position"
        self._widgets.show_controls(start.relevant)
        self._connect()
        picture = panels.draw(self._plane, self._view, None)
        self._show(_Screen(self._fit, self._view, picture, False, 0.0))

    @property
    def estimator(self) -> Bayesian:
        """The fitted estimator on the screen."""
        return self._view.est

    @property
    def setting(self) -> ExplorerState:
        """The state of the controls that the screen shows."""
        return self._view.state

    @property
    def before(self) -> ExplorerState | None:
        """The setting before, or the pinned one, which the screen shows in grey."""
        return None if self._before is None else self._before.state

    @property
    def picture(self) -> bytes:
        """The picture on the screen, as PNG."""
        return bytes(self._widgets.image.value)

    def code(self) -> str:
        """Return the constructor call of the estimator on the screen."""
        return self.setting.code()

    def change(self, **values: Any) -> None:
        """Set several controls in one step.

        A change of ``row`` takes the place of a new row, see :meth:`use_row`.

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
        if "row" in values:
            self._z = None
        self._request()

    def use_row(self, values: Any) -> None:
        """Take a new row as the point z, and show why it is normal or abnormal.

        Parameters
        ----------
        values : array-like of shape (p,), pandas.Series, dict, or None
            The values of the columns; a Series or dict names them. None gives the chosen training
            row back.

        Raises
        ------
        ValueError, TypeError
            The errors of ``predict`` for one row.

        Examples
        --------
        >>> import bsvdd
        >>> from bsvdd.comparison import datasets
        >>> data = datasets.embedded("wine_cultivar3")
        >>> explorer = bsvdd.explore(data.X, data.minority)
        >>> new = data.X[0].copy()
        >>> new[2] = 99.0
        >>> explorer.use_row(new)
        >>> bool(explorer.wait().estimator.predict([new])[0] == -1)
        True
        """
        if values is None:
            self._z = None
        else:
            named = isinstance(values, pd.Series | dict)
            table = pd.DataFrame([dict(values)]) if named else np.asarray(values)[None]
            (row,) = new_rows.table(self.estimator, table)
            self._z = tuple(float(v) for v in row)
        self._request()

    def use_prior(self, prior: Any) -> None:
        """Take a prior that is typed in a cell, in place of the controls of the prior.

        Parameters
        ----------
        prior : prior, or None
            As ``est.with_prior`` takes it: a prior of ``bsvdd.priors``, a function that makes a
            PyMC variable, or a PreliZ distribution. None gives the controls back.

        Examples
        --------
        >>> import bsvdd, pymc as pm
        >>> from bsvdd.comparison import datasets
        >>> data = datasets.embedded("wine_cultivar3")
        >>> explorer = bsvdd.explore(data.X, data.minority)
        >>> explorer.use_prior(lambda gram, name, dims: pm.StudentT(name, nu=4, dims=dims))
        >>> "my_prior" in explorer.wait().code()
        True
        """
        self._own_prior = prior
        self._request()

    def elicit(self, **stated: Any) -> None:
        """Set the controls of the prior to what is stated, see ``est.elicit_prior``.

        Parameters
        ----------
        stated : float
            ``effective_support``, ``largest_weight`` or ``typical_distance``.

        Raises
        ------
        ValueError
            No numbers that the sliders reach give what is stated; no control changes then.
        """
        found = self.estimator.elicit_prior(self._X, self._y, **stated)
        names = [name for name in ("sd", "exponent", "power") if hasattr(found, name)]
        self.change(**{n: self.ranges[n].rounded(getattr(found, n)) for n in names})

    def cancel(self) -> None:
        """Stop the fit that runs; the controls go back to the setting on the screen."""
        with self._worker.lock:
            if not self._worker.cancel():
                return
            self._requested = self.setting
            self._paused = True
            try:
                for name, widget in self.controls.items():
                    widget.value = getattr(self.setting, name)
            finally:
                self._paused = False
            self._own_prior, self._z = self.setting.own_prior, self.setting.z
            self._widgets.show_controls(self._requested.relevant)
            self._ready("cancelled; the picture shows the setting before")

    def close(self) -> None:
        """Stop the fit that runs and take the explorer from the page.

        Jupyter keeps the widgets of every explorer, and with them its rows and fits, until they
        are closed. The fitted estimator stays, as ``estimator``.
        """
        self._worker.cancel()
        with self._worker.lock:
            self._widgets.cancel.disabled = True  # which ends the clock
            self._widgets.close()

    def pin(self, other: Explorer | None = None) -> None:
        """Show a setting left of all further ones, on the same axes, until :meth:`unpin`.

        Parameters
        ----------
        other : Explorer, optional
            Pins the setting on the screen of another explorer of the same data; by default the
            setting on the screen of this one.

        Raises
        ------
        ValueError
            The other explorer has other rows, labels or units.
        """
        with self._worker.lock:
            view = self._view if other is None else other._view
            if other is not None:
                self._check_same_data(other)
            self._pinned = view
            self._show_pinned()

    def unpin(self) -> None:
        """Compare each further setting with the one before it."""
        with self._worker.lock:
            self._pinned = None
            self._show_pinned()

    def _show_pinned(self) -> None:
        self._paused = True
        try:
            self._widgets.pin.value = self._pinned is not None
        finally:
            self._paused = False
        self._start()

    def _pin_pressed(self, pressed: bool) -> None:
        if not self._paused:
            self.pin() if pressed else self.unpin()

    def _check_same_data(self, other: Explorer) -> None:
        rows, of_other = (e.estimator.fit_.data.rows for e in (self, other))
        here, there = (" x ".join(map(str, table.shape)) for table in (rows, of_other))
        if here != there:
            what = f"other rows, {there} and not {here}"
        elif not np.array_equal(rows, of_other):
            what = "other rows"
        elif self.setting.standardize != other.setting.standardize:
            what = "another standardize"
        elif not np.array_equal(self._view.minority, other._view.minority):
            what = "other labels"
        else:
            return
        raise ValueError(
            "two settings stand side by side only if they are of the same data; the other "
            f"explorer has {what}. Call bsvdd.explore for both with the same X, y and standardize"
        )

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

    # from a change to a picture

    def _connect(self) -> None:
        """Give the widgets their callbacks."""
        widgets = self._widgets
        for control in self.controls.values():
            control.observe(self._control_moved, names="value")
        widgets.image.on_click(self._clicked)
        widgets.show_row.on_click(lambda _: self._show_typed())
        widgets.cancel.on_click(lambda _: self.cancel())
        widgets.pin.observe(lambda change: self._pin_pressed(change["new"]), names="value")
        widgets.show_code.on_click(lambda _: self._show_code())

    def _read_controls(self) -> ExplorerState:
        values = {name: widget.value for name, widget in self.controls.items()}
        values |= {name: limits.rounded(values[name]) for name, limits in self.ranges.items()}
        return replace(self._requested, own_prior=self._own_prior, z=self._z, **values)

    def _request(self) -> None:
        """Request the picture of the controls, unless it is requested already."""
        if self._paused:
            return
        state = self._read_controls()
        if state == self._requested:
            return
        self._requested = state
        self._widgets.show_controls(self._requested.relevant)
        self._start()

    def _control_moved(self, change: Any) -> None:
        if not self._paused:
            if change["owner"] is self.controls["row"]:
                self._z = None
            self._request()

    def _clicked(self, x: float, y: float) -> None:
        """Choose the row at this place of the picture."""
        row = panels.row_at(self._plane, x, y, self._pinned_is_shown)
        if row is not None:
            self.change(row=row)

    def _show_typed(self) -> None:
        """Take the row of the text box as the point z."""
        try:
            names = self._column_names
            values = parsed(self._widgets.typed_row.value, names, self._categories)
            has_names = hasattr(self.estimator, "feature_names_in_")
            self.use_row(dict(zip(names, values, strict=True)) if has_names else values)
        except ValueError as error:
            self._widgets.messages.value = summary.message("error", f"The new row: {error}.")

    @property
    def _column_names(self) -> list[Any]:
        est = self.estimator
        return list(getattr(est, "feature_names_in_", range(est.n_features_in_)))

    def _start(self) -> None:
        """Start to compute the screen of the requested state."""
        state = self._requested
        with self._worker.lock:  # an older result must not set "up to date" in between
            self.widget.add_class(PENDING)
            if self._widgets.cancel.disabled:
                self._since = time.perf_counter()
                self._widgets.cancel.disabled = False
                self._show_time()
            self._worker.request(partial(self._compute, state, self._fit, self._view))

    def _show_time(self) -> None:
        """Show how long the fit has run, each second until it ends."""
        with self._worker.lock:
            if self._widgets.cancel.disabled:
                return
            seconds = time.perf_counter() - self._since
            self._widgets.set_status(f"fitting … {seconds:.0f} s", "bsvdd-busy")
        timer = threading.Timer(1.0, self._show_time)
        timer.daemon = True
        timer.start()

    def _ready(self, text: str, css_class: str = "bsvdd-ready") -> None:
        self.widget.remove_class(PENDING)
        self._widgets.cancel.disabled = True
        self._widgets.set_status(text, css_class)

    def _compute(self, state: ExplorerState, fit: FitResult, current: View) -> _Screen:
        """Return the screen of ``state``; ``fit`` and ``current`` are on the screen now."""
        start = time.perf_counter()
        fit = refit(state.estimator(), fit, self._X, self._y)
        checkpoint()
        view = View.of(state, fit, self._grid, current)
        checkpoint()
        before, pinned = self._compared(state, current), self._pinned is not None
        picture = panels.draw(self._plane, view, before, pinned)
        return _Screen(fit, view, picture, pinned, time.perf_counter() - start)

    def _compared(self, state: ExplorerState, current: View) -> View | None:
        """Return the view that a new one is compared with: the pinned one, or the one before."""
        if self._pinned is not None:
            return self._pinned
        return current if current.state != state else self._before

    def _show(self, screen: _Screen) -> None:
        self._fit, view = screen.fit, screen.view
        self._before = self._compared(view.state, self._view)
        self._view = view
        self._widgets.image.value, self._pinned_is_shown = screen.picture, screen.pinned
        self._widgets.numbers.value = summary.tables(view, self._before, self._plane, screen.pinned)
        point = (view.state.row, view.state.z)
        if point != self._typed_point:  # else it may be half typed
            self._widgets.typed_row.value = as_text(
                self._column_names, view.point[0], self._categories
            )
            self._typed_point = point
        self._widgets.messages.value = "".join(summary.message("warning", w) for w in view.warnings)
        if self._widgets.code_is_shown:
            self._show_code()
        seconds = f", in {screen.seconds:.2f} s" if screen.seconds else ""
        self._ready(f"up to date{seconds}")

    def _show_error(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}. The picture shows the last setting without error."
        self._widgets.messages.value = summary.message("error", text)
        self._widgets.cancel.disabled = True
        self._widgets.set_status("not up to date", "bsvdd-failed")

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
        self._widgets.set_code(f"{imports}\nest = {self.code()}\nest.fit(X, y)\n")


def _categories(X: Any, est: Bayesian) -> dict[int, dict[float, str]]:
    """Return the categories of a data frame by their numbers, for each column that has some."""
    of_columns: dict[int, dict[float, str]] = {}
    for i in est.kernel_.categorical_columns:
        texts = X.iloc[:, i].unique() if isinstance(X, pd.DataFrame) else ()
        of_columns[i] = {code(text): str(text) for text in texts}
    return of_columns


def _own(values: Any) -> Any:
    """Return a copy for later fits; rows that are in a file or on a cluster stay there."""
    elsewhere = isinstance(values, str | os.PathLike | np.memmap) or is_lazy(values)
    return values if elsewhere else copy.deepcopy(values)
