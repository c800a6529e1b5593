"""Change a prior and see at once what it does: the explorer, for Jupyter.

The picture comes from :mod:`.panels`, what the controls say is a :class:`.setting.Setting`, and
:mod:`.latest` keeps an older request from standing in the way of the newest.
"""

from __future__ import annotations

import html
import time
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from ..models import kernels
from . import panels, readout
from .bayesian import BayesianDescription
from .fitted import Fitted
from .latest import Latest, checkpoint
from .setting import (
    CRITERIA_WITHOUT_MINORITY,
    DIGITS,
    LABELS,
    MODELS,
    Range,
    Setting,
    bandwidths,
    logarithms,
)
from .warning import collected

WAIT = 600.0  # seconds for which wait() waits
PENDING = "bsvdd-pending"  # while the picture is not that of the controls, it is pale
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
    """Show what prior, kernel, likelihood and cutoff do to posterior and decision, in Jupyter.

    Each change of a control is fitted and drawn beside the setting before, which stays visible
    faintly. Where only numbers of priors or the likelihood change, nothing is compiled anew;
    where only the cutoff changes, nothing is fitted. The first fit is made at once.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Training rows. With more than two columns they are shown on the plane through their mean
        that their first two principal components span.
    y : array-like of shape (n,), optional
        Labels, read as by ``fit``. BSVDD-M, and cutoffs that weigh misses, need minority rows.
    minor_label : optional
        Label of the minority in y.
    standardize : bool, default=True
        Scale each column by the majority rows; the bandwidth is then in standard deviations.
    dictionary : int, optional
        So many landmarks instead of all rows, for more than about a thousand rows.
    draws, chains : int, default=1000, 2
    random_state : int, default=0

    Returns
    -------
    Explorer
        Shown as the last line of a cell; ``.estimator`` is the fitted estimator on the screen,
        ``.code()`` its constructor call.

    Raises
    ------
    ImportError
        ipywidgets is not installed.
    ValueError, TypeError
        What ``fit`` says of X and y.

    Examples
    --------
    >>> import bsvdd
    >>> from bsvdd.comparison import datasets
    >>> data = datasets.embedded("wine_cultivar3")
    >>> explorer = bsvdd.explore(data.X, data.minority)
    >>> explorer.change(sd=2.0)
    >>> explorer.wait().estimator.prior
    StandardizedRowSum(sd=2.0)
    """
    try:
        import ipywidgets  # noqa: F401  its absence is to be told before a fit takes its time
    except ImportError as error:
        raise ImportError(
            "bsvdd.explore needs ipywidgets, which comes with the extra jupyter: "
            "pip install 'bsvdd[jupyter]'"
        ) from error
    if dictionary is not None and (isinstance(dictionary, bool) or not isinstance(dictionary, int)):
        raise TypeError(f"dictionary must be a number of landmarks or None, got {dictionary!r}")
    base: dict[str, Any] = {
        "standardize": standardize,
        "dictionary": dictionary,
        "draws": draws,
        "chains": chains,
        "random_state": random_state,
        "minor_label": minor_label.item() if isinstance(minor_label, np.generic) else minor_label,
    }
    return Explorer(X, y, base)


class Explorer:
    """The controls and the picture; made by :func:`bsvdd.explore`.

    Attributes
    ----------
    widget : ipywidgets.Widget
    controls : dict of str: ipywidgets.Widget
        By the names of the fields of :class:`bsvdd.inference.setting.Setting`.
    ranges : dict of str: Range
        What each slider reaches.
    """

    def __init__(self, X: Any, y: Any, base: dict[str, Any]):
        self._X, self._y = X, y
        kernel: kernels.Kernel = kernels.RBF()
        if base["standardize"]:
            kernel = kernels.Standardized(kernel)
        probe = MODELS["BSVDD"](kernel=kernel)
        probe.set_params(**{name: value for name, value in base.items() if name != "standardize"})
        with collected():  # the first fit says the same
            training = probe._training(X, y)
        resolved: Any = training.kernel
        bandwidth = float((resolved.kernel if base["standardize"] else resolved).bandwidth)
        minority = training.minority
        self.ranges = Setting.RANGES | {
            "bandwidth": bandwidths(bandwidth),
            "row": Range(0, len(minority) - 1, 1, whole=True),
        }
        self.choices = dict(Setting.CHOICES)
        if not minority.any():
            self.choices["criterion"] = CRITERIA_WITHOUT_MINORITY
            self.choices["model"] = tuple(
                name for name, model in MODELS.items() if not model._learns_from_minority
            )
        start = Setting(
            bandwidth=self.ranges["bandwidth"].rounded(bandwidth),
            criterion=self.choices["criterion"][0],
            **base,
        )
        self._asked = start
        self._fitted = Fitted.of(start.estimator(), None, X, y)
        self._plane = panels.Plane.of(self._fitted.est)
        self._grid = self._plane.grid()[2]
        self._view = panels.View.of(start, self._fitted.est, self._grid, self._fitted.notes)
        self._before: panels.View | None = None
        self._quiet = False
        self._latest = Latest(self._show, self._show_error)
        self._make_widgets()
        self._show((self._fitted, self._view, panels.draw(self._plane, self._view, None), 0.0))

    @property
    def estimator(self) -> BayesianDescription:
        """The fitted estimator that is on the screen."""
        return self._view.est

    @property
    def setting(self) -> Setting:
        """What is on the screen."""
        return self._view.setting

    @property
    def before(self) -> Setting | None:
        """What was on the screen before, and is faint there now."""
        return None if self._before is None else self._before.setting

    @property
    def picture(self) -> bytes:
        """The picture on the screen, as PNG."""
        return bytes(self._image.value)

    def code(self) -> str:
        """Return the constructor call of what is on the screen."""
        return self.setting.code()

    def change(self, **values: Any) -> None:
        """Move several controls at once, as one change.

        Raises
        ------
        ValueError, TypeError
            No such control, or a value that it cannot reach; nothing is changed then.
        """
        unknown = set(values) - set(self.controls)
        if unknown:
            raise ValueError(f"no controls {sorted(unknown)}; there are {sorted(self.controls)}")
        for name, value in values.items():
            if name in self.ranges:
                self.ranges[name].check(name, value)
            elif value not in self.choices[name]:
                raise ValueError(f"{name} must be one of {list(self.choices[name])}, got {value!r}")
        self._quiet = True
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:
            self._quiet = False
        self._changed()

    def wait(self, timeout: float = WAIT) -> Self:
        """Wait until the picture shows what the controls say, and return this explorer.

        Raises
        ------
        TimeoutError
        """
        self._latest.join(timeout)
        return self

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    # the controls

    def _make_widgets(self) -> None:
        import ipywidgets as w

        self.controls = {name: self._control(w, name) for name in LABELS}
        for control in self.controls.values():
            control.observe(lambda _: self._changed(), names="value")
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

    def _control(self, w: Any, name: str) -> Any:
        value = getattr(self._asked, name)
        common = {
            "description": LABELS[name],
            "style": {"description_width": "112px"},
            "layout": w.Layout(width="330px"),
        }
        if name == "bounded":
            control = w.Checkbox(value, indent=True, **common)
        elif name in self.choices:
            control = w.Dropdown(options=list(self.choices[name]), value=value, **common)
        else:
            control = self._slider(w, self.ranges[name], value, common)
        control.add_class(f"bsvdd-{name.replace('_', '-')}")
        return control

    @staticmethod
    def _slider(w: Any, limits: Range, value: float, common: dict[str, Any]) -> Any:
        common = common | {"continuous_update": False, "value": value}
        if limits.whole:
            return w.IntSlider(min=int(limits.low), max=int(limits.high), **common)
        common |= {"step": limits.step, "readout_format": f".{DIGITS}g"}
        if not limits.log:
            return w.FloatSlider(min=limits.low, max=limits.high, **common)
        low, high = logarithms(limits)
        return w.FloatLogSlider(base=10.0, min=low, max=high, **common)

    def _read(self) -> Setting:
        """Return what the controls say."""
        said = {name: control.value for name, control in self.controls.items()}
        said |= {name: limits.rounded(said[name]) for name, limits in self.ranges.items()}
        return replace(self._asked, **said)

    def _show_relevant(self) -> None:
        for name, control in self.controls.items():
            control.layout.display = None if name in self._asked.relevant else "none"

    # from a change to a picture

    def _changed(self) -> None:
        if self._quiet:
            return
        asked = self._read()
        if asked == self._asked:
            return
        self._asked = asked
        self._show_relevant()
        with self._latest.lock:  # an older result must not say in between that all is up to date
            self.widget.add_class(PENDING)
            self._say("fitting …", "bsvdd-busy")
            self._latest.request(partial(self._job, asked, self._fitted, self._view))

    def _job(
        self, asked: Setting, known: Fitted, shown: panels.View
    ) -> tuple[Fitted, panels.View, bytes, float]:
        start = time.perf_counter()
        fitted = Fitted.of(asked.estimator(), known, self._X, self._y)
        checkpoint()
        view = panels.View.of(asked, fitted.est, self._grid, fitted.notes, shown)
        checkpoint()
        before = shown if shown.setting != asked else self._before
        return fitted, view, panels.draw(self._plane, view, before), time.perf_counter() - start

    def _show(self, done: tuple[Fitted, panels.View, bytes, float]) -> None:
        self._fitted, view, picture, seconds = done
        if view.setting != self._view.setting:
            self._before = self._view
        self._view = view
        self._image.value = picture
        self._numbers.value = readout.tables(view, self._before, self._plane)
        self._messages.value = "".join(readout.message("warning", note) for note in view.notes)
        if self._code.layout.display != "none":
            self._show_code()
        self.widget.remove_class(PENDING)
        self._say(f"up to date, in {seconds:.2f} s" if seconds else "up to date", "bsvdd-ready")

    def _show_error(self, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}. The picture shows the last setting without error."
        self._messages.value = readout.message("error", said)
        self._say("not up to date", "bsvdd-failed")

    def _say(self, text: str, name: str) -> None:
        self._status.value = f'<span class="bsvdd-status {name}">{html.escape(text)}</span>'

    def _show_code(self) -> None:
        model = type(self.estimator).__name__
        self._code.value = (
            f"from bsvdd import {model}, Cutoff, kernels, priors\n\n"
            f"est = {self.code()}\nest.fit(X, y)\n"
        )
        self._code.layout.display = None
