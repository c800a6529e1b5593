"""Change a prior and see at once what it does: the explorer, for Jupyter.

The picture comes from :mod:`.panels`, what the controls say is a :class:`.setting.Setting`, and
:mod:`.latest` keeps an older request from standing in the way of the newest.
"""

from __future__ import annotations

import copy
import html
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from ..models import kernels
from . import panels
from .bayesian import BayesianDescription
from .latest import Latest, checkpoint
from .setting import (
    CRITERIA_WITHOUT_MINORITY,
    DIGITS,
    MODELS,
    Range,
    Setting,
    bandwidths,
    logarithms,
)
from .warning import DataWarning, Heard, collected

LABELS = {
    "model": "model",
    "prior": "prior",
    "sd": "prior sd",
    "exponent": "exponent ν",
    "a": "Beta a",
    "b": "Beta b",
    "bounded": "bound Σα1 by c",
    "total": "total c",
    "likelihood_scale": "likelihood scale",
    "bandwidth": "bandwidth s",
    "criterion": "cutoff by",
    "false_alarm_rate": "false-alarm rate",
    "miss_cost": "cost of a miss",
    "level": "normal above P",
    "row": "point z: row",
}
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


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator, and the warnings of its fit."""

    est: BayesianDescription
    heard: Heard

    @classmethod
    def of(cls, new: BayesianDescription, known: Fitted | None, X: Any, y: Any) -> Self:
        """Fit ``new`` to X and y, by way of what is ``known`` and no more than has changed."""
        before = {} if known is None else known.est.get_params(deep=False)
        after = new.get_params(deep=False)
        same_model = known is not None and type(known.est) is type(new)
        changed = {name for name, value in after.items() if not same_model or before[name] != value}
        with collected() as heard:
            if known is None or changed - {
                "prior",
                "minority_prior",
                "likelihood_scale",
                "cutoff",
            }:
                return cls(new.fit(X, y), heard)
            if changed == {"cutoff"}:
                return cls(known.est.with_cutoff(new.cutoff), known.heard)
            if not changed:
                return cls(known.est, known.heard)
            est = copy.copy(known.est).set_params(
                likelihood_scale=new.likelihood_scale, cutoff=new.cutoff
            )
            asked = {name: after[name] for name in ("prior", "minority_prior") if name in after}
            est = est.with_prior(**asked)
        of_the_rows = [(m, category) for m, category in known.heard if category is DataWarning]
        return cls(est, of_the_rows + heard)

    @property
    def notes(self) -> list[str]:
        """The warnings, each once."""
        return list(dict.fromkeys(message for message, _ in self.heard))


class Explorer:
    """The controls and the picture; made by :func:`explore`.

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
    def _slider(w: Any, numbers: Range, value: float, common: dict[str, Any]) -> Any:
        common = common | {"continuous_update": False, "value": value}
        if numbers.whole:
            return w.IntSlider(min=int(numbers.low), max=int(numbers.high), **common)
        common |= {"step": numbers.step, "readout_format": f".{DIGITS}g"}
        if not numbers.log:
            return w.FloatSlider(min=numbers.low, max=numbers.high, **common)
        low, high = logarithms(numbers)
        return w.FloatLogSlider(base=10.0, min=low, max=high, **common)

    def _read(self) -> Setting:
        """Return what the controls say."""
        said = {name: control.value for name, control in self.controls.items()}
        said |= {name: numbers.rounded(said[name]) for name, numbers in self.ranges.items()}
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
        self._numbers.value = _numbers(view, self._before, self._plane)
        self._messages.value = "".join(_message("warning", note) for note in view.notes)
        if self._code.layout.display != "none":
            self._show_code()
        self.widget.remove_class(PENDING)
        self._say(f"up to date, in {seconds:.2f} s" if seconds else "up to date", "bsvdd-ready")

    def _show_error(self, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}. The picture shows the last setting without error."
        self._messages.value = _message("error", said)
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


def _message(kind: str, text: str) -> str:
    color, title = {"error": ("#B00020", "Error"), "warning": ("#8A5A00", "Warning")}[kind]
    return (
        f'<div class="bsvdd-{kind}" style="border-left:4px solid {color};padding:2px 8px;'
        f'margin:2px 0;line-height:1.35;white-space:normal"><b style="color:{color}">{title}.</b> '
        f"{html.escape(text)}</div>"
    )


def _numbers(view: panels.View, before: panels.View | None, plane: panels.Plane) -> str:
    """Return the numbers as tables: this setting, and faintly the one before."""
    caption = (
        f"{plane.caption} Counts: each training row is judged by the centre without it "
        "(left out), as the cutoff is chosen; d_z and P(normal) of z are by the whole centre."
    )
    tables = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:8px 36px"
    return (
        f'<div class="bsvdd-numbers" style="line-height:1.35;white-space:normal">'
        f'<div style="margin-bottom:6px">{html.escape(_changes(view, before))}</div>'
        f'<div style="{tables}">{_confusion(view, before)}{_summary(view, before)}</div>'
        f'<div style="margin-top:6px;font-size:90%;max-width:62em">{html.escape(caption)}</div>'
        "</div>"
    )


def _changes(view: panels.View, before: panels.View | None) -> str:
    """Return in words what differs between the two settings."""
    if before is None:
        return "First setting; grey will be the setting before each change."
    new, old = view.setting, before.setting
    names = [n for n in LABELS if n in new.relevant | old.relevant]
    changed = [
        f"{LABELS[n]} {_value(getattr(old, n))} → {_value(getattr(new, n))}"
        for n in names
        if getattr(old, n) != getattr(new, n)
    ]
    return f"Changed: {'; '.join(changed)}. Grey is the setting before."


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cells(tag: str, *cells: str) -> str:
    return "".join(
        f'<{tag} style="padding:1px 10px 1px 0;text-align:left">{c}</{tag}>' for c in cells
    )


def _faint(text: str) -> str:
    return f'<span class="bsvdd-before" style="color:{panels.BEFORE}">{text}</span>'


def _confusion(view: panels.View, before: panels.View | None) -> str:
    rows = [_cells("th", "left-out decision", "normal", "abnormal")]
    for i, name in enumerate(("majority", "minority")):
        if not view.counts[i].sum():
            continue
        cells = [
            str(n) if before is None else f"{n} {_faint(f'({before.counts[i, j]})')}"
            for j, n in enumerate(view.counts[i])
        ]
        rows.append(_cells("th", name) + _cells("td", *cells))
    return f'<table class="bsvdd-confusion">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _summary(view: panels.View, before: panels.View | None) -> str:
    new, old = _figures(view), {} if before is None else _figures(before)
    rows = [_cells("th", "", "this setting", *([_faint("before")] if old else []))]
    for name, value in new.items():
        was = [_faint(html.escape(old[name]))] if old else []
        rows.append(_cells("th", html.escape(name)) + _cells("td", html.escape(value), *was))
    return f'<table class="bsvdd-summary">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _figures(view: panels.View) -> dict[str, str]:
    est, M = view.est, view.weights.shape[1]
    found = est.idata_["diagnostics"].dataset
    prior = f"{np.median(view.prior_support):.1f}" if len(view.prior_support) else "improper"
    kind = "minority" if view.is_minority else "majority"
    return {
        "D_opt, the cutoff of d_z": f"{est.cutoff_:.5g}",
        "P(normal | data) of z": f"{view.p_row:.3f} (row {view.setting.row}, {kind})",
        "effective support, posterior": f"{np.median(view.support):.1f} of {M}",
        "effective support, prior": f"{prior} of {M}",
        "largest weight, posterior": f"{float(found['largest_weight']):.3f}",
        "R-hat; effective draws": f"{float(found['r_hat']):.3f}; {float(found['ess']):.0f}",
        "sampler": str(est.idata_["posterior"].attrs["sampler"]),
    }
