"""Change a prior and see at once what it changes: the explorer, for Jupyter.

The state of the controls and its numbers are in :mod:`.state`. :mod:`.picture` draws them,
:mod:`.page` has the widgets, and only the newest request is shown.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from ..estimators.bayesian import Bayesian
from ..inference.threads import SupersededError, checkpoint, superseded
from . import picture
from .picture import Plane
from .state import ExplorerState, Range, View, allowed, first_fit, refit

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
        Number of groups of rows that are points, as in :class:`bsvdd.BSVDD`.
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
    minor_label = minor_label.item() if isinstance(minor_label, np.generic) else minor_label
    numbers = {"draws": draws, "chains": chains, "random_state": random_state}
    rows = {"standardize": standardize, "dictionary": dictionary, "minor_label": minor_label}
    return Explorer(X, y, numbers | rows)


@dataclass(frozen=True, eq=False)
class Screen:
    """What the explorer shows: a view, the one that it is compared with, and their picture."""

    view: View
    before: View | None
    pinned: bool  # whether the picture has the plane of ``before``
    picture: bytes
    seconds: float


class Explorer:
    """The controls and the picture, as :func:`bsvdd.explore` returns them.

    Attributes
    ----------
    widget : ipywidgets.Widget
        Controls, picture and numbers.
    controls : dict of str: ipywidgets.Widget
        The controls, by the fields of :class:`bsvdd.explorer.state.ExplorerState`.
    allowed : dict of str: Range or tuple
        The numbers that each slider can reach, and the values that each other control can take.
    """

    def __init__(self, X: Any, y: Any, options: dict[str, Any]):
        try:  # their absence is an error before the fit, not after it
            from . import page
        except ImportError as error:
            raise ImportError(
                "bsvdd.explore needs anywidget and ipywidgets, which come with the extra jupyter: "
                "pip install 'bsvdd[jupyter]'"
            ) from error
        self._X, self._y = copy.deepcopy(X), copy.deepcopy(y)
        fit, self._requested = first_fit(self._X, self._y, options)
        self.allowed = allowed(self._requested, fit)
        self._plane = Plane.of(fit.est)
        self._grid = self._plane.grid()
        self._pinned: View | None = None
        self._since = 0.0
        self._worker = LatestWorker(self._show, self._show_error)
        self._texts = page
        self._page = page.Page(self._requested, self.allowed)
        self.controls, self.widget = self._page.controls, self._page.widget
        if fit.est.fit_.data.names is not None:
            self.controls["row"].description = "point z: position"
        self._page.show_controls(self._requested.relevant)
        self._connect()
        view = View.of(self._requested, fit, self._grid)
        self._screen = Screen(view, None, False, picture.draw(self._plane, view, None), 0.0)
        self._show(self._screen)

    @property
    def estimator(self) -> Bayesian:
        """The fitted estimator on the screen."""
        return self._screen.view.est

    @property
    def setting(self) -> ExplorerState:
        """The state of the controls that the screen shows."""
        return self._screen.view.state

    @property
    def before(self) -> ExplorerState | None:
        """The setting before, or the pinned one, which the screen shows in grey."""
        return None if self._screen.before is None else self._screen.before.state

    @property
    def picture(self) -> bytes:
        """The picture on the screen, as PNG."""
        return self._screen.picture

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
            possible = self.allowed[name]
            if isinstance(possible, Range):
                possible.check(name, value)
                values[name] = possible.rounded(value)
            elif value not in possible:
                raise ValueError(f"{name} must be one of {list(possible)}, got {value!r}")
        self._request(**values)
        self._set_controls()

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
        self._request(own_prior=prior)

    def cancel(self) -> None:
        """Stop the fit that runs; the controls go back to the setting on the screen."""
        with self._worker.lock:
            if self._worker.cancel():
                self._requested = self.setting
                self._set_controls()
                self._page.end("cancelled; the picture shows the setting before")

    def close(self) -> None:
        """Stop the fit that runs and take the explorer from the page.

        Jupyter keeps the widgets of every explorer, and with them its rows and fits, until they
        are closed. The fitted estimator stays, as ``estimator``.
        """
        self._worker.cancel()
        with self._worker.lock:
            self._page.cancel.disabled = True  # which ends the clock
            self._page.close()

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
        other = other or self
        mine, its = self.estimator.fit_.data, other.estimator.fit_.data
        same = {
            "rows": np.array_equal(mine.rows, its.rows),
            "labels": np.array_equal(mine.minority, its.minority),
            "standardize": self.setting.standardize == other.setting.standardize,
        }
        if not all(same.values()):
            raise ValueError(
                "two settings stand side by side only if they are of the same data; the other "
                f"explorer differs in {', '.join(n for n, is_same in same.items() if not is_same)}"
                ". Call bsvdd.explore for both with the same X, y and standardize"
            )
        self._pin(other._screen.view)

    def unpin(self) -> None:
        """Compare each further setting with the one before it."""
        self._pin(None)

    def _pin(self, view: View | None) -> None:
        with self._worker.lock:
            self._pinned = view
            self._page.pin.value = view is not None
            self._start()

    def _pin_pressed(self, pressed: bool) -> None:
        if pressed != (self._pinned is not None):  # else the button follows
            self._pin(self._screen.view if pressed else None)

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
        page = self._page
        for name, control in self.controls.items():
            control.observe(partial(self._moved, name), names="value")
        page.image.on_click(self._clicked)
        page.cancel.on_click(lambda _: self.cancel())
        page.pin.observe(lambda change: self._pin_pressed(change["new"]), names="value")
        page.show_code.on_click(lambda _: self._show_code())

    def _moved(self, name: str, change: Any) -> None:
        value, possible = change["new"], self.allowed[name]
        if isinstance(possible, Range):
            value = possible.rounded(value)
        if value != getattr(self._requested, name):  # else the control follows the state
            self._request(**{name: value})

    def _set_controls(self) -> None:
        """Let the controls show the requested state."""
        for name, control in self.controls.items():
            control.value = getattr(self._requested, name)
        self._page.show_controls(self._requested.relevant)

    def _request(self, **changes: Any) -> None:
        """Request the picture of a changed state."""
        state = replace(self._requested, **changes)
        if state != self._requested:
            self._requested = state
            self._page.show_controls(state.relevant)
            self._start()

    def _clicked(self, x: float, y: float) -> None:
        """Choose the row at this place of the picture."""
        row = picture.row_at(self._plane, x, y, self._screen.pinned)
        if row is not None:
            self.change(row=row)

    def _start(self) -> None:
        """Start to compute the screen of the requested state."""
        with self._worker.lock:  # an older result must not set "up to date" in between
            self.widget.add_class(self._texts.PENDING)
            if self._page.cancel.disabled:
                self._since = time.perf_counter()
                self._page.cancel.disabled = False
                self._show_time()
            compute = partial(self._compute, self._requested, self._screen, self._pinned)
            self._worker.request(compute)

    def _show_time(self) -> None:
        """Show how long the fit has run, each second until it ends."""
        with self._worker.lock:
            if self._page.cancel.disabled:
                return
            seconds = time.perf_counter() - self._since
            self._page.set_status(f"fitting … {seconds:.0f} s", "busy")
        timer = threading.Timer(1.0, self._show_time)
        timer.daemon = True
        timer.start()

    def _compute(self, state: ExplorerState, shown: Screen, pinned: View | None) -> Screen:
        """Return the screen of ``state``, which comes after ``shown``."""
        start = time.perf_counter()
        fit = refit(state, shown.view.fit, self._X, self._y)
        checkpoint()
        view = View.of(state, fit, self._grid, shown.view)
        checkpoint()
        before = pinned or (shown.view if shown.view.state != state else shown.before)
        image = picture.draw(self._plane, view, before, pinned is not None)
        return Screen(view, before, pinned is not None, image, time.perf_counter() - start)

    def _show(self, screen: Screen) -> None:
        self._screen, view, texts = screen, screen.view, self._texts
        self._page.image.value = screen.picture
        self._page.numbers.value = texts.numbers(
            view, screen.before, self._plane.caption, screen.pinned
        )
        warnings = dict.fromkeys(text for text, _ in view.fit.warnings)
        self._page.messages.value = "".join(texts.message("warning", each) for each in warnings)
        if self._page.code_box.layout.display is None:
            self._show_code()
        seconds = f", in {screen.seconds:.2f} s" if screen.seconds else ""
        self._page.end(f"up to date{seconds}")

    def _show_error(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}. The picture shows the last setting without error."
        self._page.messages.value = self._texts.message("error", text)
        self._page.end("not up to date", "failed")

    def _show_code(self) -> None:
        self._page.code.value = self.setting.cell()
        self._page.code_box.layout.display = None


class LatestWorker:
    """Runs requests in threads and delivers the result of the newest request only.

    A new request starts at once, even while older requests run. An older request stops at its
    next :func:`.checkpoint`; its result or error is discarded. When two requests run already, a
    new request waits, until a newer one takes its place.

    Parameters
    ----------
    deliver : callable
        Receives the result of a request, in the thread of the request.
    fail : callable
        Receives an error of a request or of ``deliver``.

    Attributes
    ----------
    lock : threading.Condition
        Held during a delivery. A caller that holds it can make a request and change other state
        in one step.
    """

    def __init__(self, deliver: Callable[[Any], None], fail: Callable[[Exception], None]):
        self._deliver, self._fail = deliver, fail
        self._places = threading.Semaphore(2)
        self.lock = threading.Condition()
        self._newest = self._unfinished = 0

    def request(self, job: Callable[[], Any]) -> None:
        """Request ``job()``; this supersedes all earlier requests."""
        with self.lock:
            self._newest += 1
            self._unfinished += 1
            threading.Thread(target=self._run, args=(self._newest, job), daemon=True).start()

    def cancel(self) -> bool:
        """Give up all requests; none of them delivers. Return whether there was one."""
        with self.lock:
            self._newest += 1
            return self._unfinished > 0

    def join(self, timeout: float) -> None:
        """Wait until no request runs or waits.

        Raises
        ------
        TimeoutError
            A request still runs after ``timeout`` seconds.
        """
        with self.lock:
            if not self.lock.wait_for(lambda: not self._unfinished, timeout):
                raise TimeoutError(f"{self._unfinished} request(s) still run after {timeout} s")

    def _run(self, number: int, job: Callable[[], Any]) -> None:
        superseded.set(lambda: number != self._newest)
        try:
            with self._places:
                checkpoint()  # a newer request may have come in the meantime
                result = job()
            self._hand_over(number, self._deliver, result)
        except SupersededError:
            pass
        except Exception as error:  # any error is shown: in a thread it would be lost
            self._hand_over(number, self._fail, error)
        finally:
            with self.lock:
                self._unfinished -= 1
                self.lock.notify_all()

    def _hand_over(self, number: int, receive: Callable[[Any], None], value: Any) -> None:
        with self.lock:  # no new request between the check and the delivery
            if number == self._newest:
                receive(value)
