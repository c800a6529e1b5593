"""The page of the explorer: its controls, buttons, picture and texts. It knows no fit."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import anywidget
import ipywidgets as w
import numpy as np
import traitlets
from jinja2 import Environment, StrictUndefined

from ..estimators.plots.common import MAJORITY, MINORITY
from .picture import BEFORE
from .state import CONTROLS, DIGITS, ExplorerState, Range, View

PENDING = "bsvdd-pending"  # makes the picture pale while it is not that of the controls
MOST_COLUMNS = 4  # of the explanation of z
NUMBERS = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(
    files(__package__).joinpath("page.html").read_text(encoding="utf-8")
)
COPY = """<button class="jupyter-button bsvdd-clipboard" style="width:100%" onclick="
const box = this.closest('.bsvdd-explorer').querySelector('.bsvdd-code textarea');
const say = text => { this.textContent = text; };
box.focus(); box.select();
if (!navigator.clipboard) { say('selected: press Ctrl+C'); }
else { navigator.clipboard.writeText(box.value).then(
  () => say('copied'), () => { box.focus(); box.select(); say('selected: press Ctrl+C'); }); }
">Copy</button>"""
SAVE = """<a class="jupyter-button bsvdd-save" download="bsvdd-explorer.png" href="#" onclick="
this.href = this.closest('.bsvdd-explorer').querySelector('img.bsvdd-picture').src;
">Save the picture</a>"""


class Picture(anywidget.AnyWidget):
    """A PNG that sends the place of each click, as shares of its width and height.

    Attributes
    ----------
    value : bytes
        The PNG.
    """

    _esm = """
    function render({ model, el }) {
      const image = document.createElement("img");
      image.className = "bsvdd-picture";
      image.alt = "boundary, distances, support and weights of this setting";
      let url = "";
      const draw = () => {
        URL.revokeObjectURL(url);
        url = URL.createObjectURL(new Blob([model.get("value")], { type: "image/png" }));
        image.src = url;
      };
      image.addEventListener("click", event => {
        const box = image.getBoundingClientRect();
        model.send({
          x: (event.clientX - box.left) / box.width,
          y: (event.clientY - box.top) / box.height,
        });
      });
      model.on("change:value", draw);
      draw();
      el.append(image);
      return () => { model.off("change:value", draw); URL.revokeObjectURL(url); };
    }
    export default { render };
    """
    _css = ".bsvdd-picture {max-width: 100%; cursor: crosshair}"

    value = traitlets.Bytes().tag(sync=True)

    def on_click(self, receive: Callable[[float, float], None]) -> None:
        """Call ``receive(x, y)`` at each click: shares from the left and from the top, 0 to 1."""
        self.on_msg(lambda _, content, buffers: receive(float(content["x"]), float(content["y"])))


class Page:
    """The widgets of an explorer, which gives them their callbacks.

    Parameters
    ----------
    state : ExplorerState
        The values of the controls at the start.
    allowed : dict of str: Range or tuple
        What each control can take.

    Attributes
    ----------
    controls : dict of str: ipywidgets.Widget
    image : Picture
    messages, numbers, status : ipywidgets.HTML
    code : ipywidgets.Textarea
    show_code, cancel : ipywidgets.Button
    pin : ipywidgets.ToggleButton
    widget : ipywidgets.Widget
        All of them.
    """

    def __init__(self, state: ExplorerState, allowed: Mapping[str, Range | tuple[Any, ...]]):
        self.controls = {n: _control(n, getattr(state, n), values) for n, values in allowed.items()}
        self.image = Picture()
        self.messages, self.numbers, self.status = w.HTML(), w.HTML(), w.HTML()
        self.cancel = w.Button(description="Cancel", icon="stop", disabled=True)
        self.pin = w.ToggleButton(description="Pin this setting", icon="thumb-tack")
        self.show_code = w.Button(description="Show the code", icon="code")
        self.code = w.Textarea(layout=w.Layout(width="100%", height="165px"))
        others = ("cancel", "pin", "show_code", "code")
        for name, widget in (self.controls | {n: getattr(self, n) for n in others}).items():
            widget.add_class(f"bsvdd-{name.replace('_', '-')}")
        self.code_box = w.VBox([self.code, w.HTML(COPY)], layout=w.Layout(display="none"))
        buttons = [self.status, self.cancel, self.pin, self.show_code, w.HTML(SAVE)]
        left = w.VBox(
            [*self.controls.values(), *buttons],
            layout=w.Layout(width="345px", flex="0 0 auto", padding="0 12px 0 0"),
        )
        right = w.VBox(
            [self.messages, self.image, self.numbers, self.code_box],
            layout=w.Layout(flex="1 1 0%", min_width="0", overflow="hidden"),
        )
        self.widget = w.HBox([left, right])
        self.widget.add_class("bsvdd-explorer")

    def show_controls(self, names: set[str]) -> None:
        """Show the controls ``names``, and hide the others."""
        for name, widget in self.controls.items():
            widget.layout.display = None if name in names else "none"

    def set_status(self, text: str, kind: str) -> None:
        """Show what the explorer does, of the kind "busy", "ready" or "failed"."""
        self.status.value = f'<span class="bsvdd-status bsvdd-{kind}">{html.escape(text)}</span>'

    def end(self, text: str, kind: str = "ready") -> None:
        """Show how a fit has ended."""
        if kind == "ready":
            self.widget.remove_class(PENDING)
        self.cancel.disabled = True
        self.set_status(text, kind)

    def close(self) -> None:
        """Take all widgets from the page and from Jupyter's memory."""
        for widget in _with_parts(self.widget):
            widget.unobserve_all()
            widget.close()


def _control(name: str, value: Any, allowed: Range | tuple[Any, ...]) -> Any:
    options: dict[str, Any] = {
        "description": CONTROLS[name][0],
        "style": {"description_width": "112px"},
        "layout": w.Layout(width="330px"),
        "value": value,
    }
    if allowed == (False, True):
        return w.Checkbox(**options)
    if isinstance(allowed, tuple):
        return w.Dropdown(options=allowed, **options)
    options |= {"min": allowed.low, "max": allowed.high, "continuous_update": False}
    if allowed.whole:
        return w.IntSlider(**options)
    options |= {"step": allowed.step, "readout_format": f".{DIGITS}g"}
    if not allowed.log:
        return w.FloatSlider(**options)
    ends = {"min": math.log10(allowed.low), "max": math.log10(allowed.high)}
    return w.FloatLogSlider(**options | ends)


def _with_parts(widget: Any) -> list[Any]:
    """Return a widget with its children, layouts and styles."""
    parts = [getattr(widget, name, None) for name in ("layout", "style")]
    parts += getattr(widget, "children", ())
    return [widget, *(each for part in parts if part is not None for each in _with_parts(part))]


def message(kind: str, text: str) -> str:
    """Return an error or a warning as a box."""
    color = {"error": "#B00020", "warning": "#8A5A00"}[kind]
    return (
        f'<div class="bsvdd-{kind}" style="border-left:4px solid {color};padding:2px 8px;'
        f'margin:2px 0;line-height:1.35;white-space:normal"><b style="color:{color}">'
        f"{kind.capitalize()}.</b> {html.escape(text)}</div>"
    )


def numbers(view: View, before: View | None, caption: str, pinned: bool = False) -> str:
    """Return the numbers of this setting and, in grey, of the one before or pinned, as HTML."""
    grey = "pinned setting" if pinned else "setting before"
    normal = bool(view.why.rows["normal"].iloc[0])
    old = {} if before is None else _statistics(before)
    return NUMBERS.render(
        view=view,
        before=before,
        grey=grey,
        changes=_changes(view, before, grey),
        why=_why(view),
        normal=normal,
        colour=MAJORITY if normal else MINORITY,
        statistics=[(name, value, old.get(name)) for name, value in _statistics(view).items()],
        caption=caption,
        colour_before=BEFORE,
    )


def _changes(view: View, before: View | None, grey: str) -> str:
    """Return the differences between the two settings in words."""
    if before is None:
        return "This is the first setting. After a change, the setting before is in grey."
    new, old = view.state, before.state
    if old == new:
        return f"This is the {grey}."
    changed = [
        f"{CONTROLS[n][0]} {_value(getattr(old, n))} → {_value(getattr(new, n))}"
        for n in CONTROLS
        if n in new.relevant | old.relevant and n != "row" and getattr(old, n) != getattr(new, n)
    ]
    if new.row != old.row:
        changed.append(f"point z {before.name} → {view.name}")
    if new.own_prior is not old.own_prior:
        changed.append("prior typed in a cell" if new.own_prior is not None else "prior")
    return f"Changed: {'; '.join(changed)}. Grey is the {grey}."


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _why(view: View) -> list[tuple[str, float | None, str, str]]:
    """Return the largest terms, of columns and of training rows: name, share, text, change."""
    why, found = view.why, []
    is_share = why.kind == "surprise"
    if why.columns is not None:
        of_row = why.columns.isel(obs=0)
        shares = of_row["share"].values
        order = np.argsort(-shares, kind="stable")
        for f in order[:MOST_COLUMNS]:
            share, low, high = (of_row[n].values[f] for n in ("share", "share_low", "share_high"))
            change = ""
            if why.changes is not None and why.changes["change"].values[0, f] != 0.0:
                change = f"→ {why.changes['value'].values[0, f]:.3g}"
            name = f"column {of_row['column'].values[f]}"
            found.append((name, share, f"{share:.0%} [{low:.0%}, {high:.0%}]", change))
        others, more = {}, len(order) - MOST_COLUMNS
        if more > 0:
            name = f"{more} more column{'s' if more > 1 else ''}"
            others[name] = shares[order[MOST_COLUMNS:]].sum()
        if is_share:
            others["few neighbours"] = max(0.0, 1.0 - shares.sum())
        found += [(name, share, f"{share:.0%}", "") for name, share in others.items()]
    points, names = why.points.isel(obs=0), view.est.fit_.data.row_names
    for row, mean in zip(points["row"].values, points["mean"].values, strict=True):
        name = f"training row {names[row]}" if row >= 0 else "a given point"
        text = f"share {mean:.0%}" if is_share else f"term {mean:.3g}"
        found.append((name, mean if is_share else None, text, ""))
    return found


def _statistics(view: View) -> dict[str, str]:
    est, z, M = view.est, view.decision, view.weights.shape[1]
    diagnostics = est.fit_.diagnostics
    one_estimate = len(view.support) == 1
    prior = "not drawn" if one_estimate else "improper"
    if len(view.prior_support):
        prior = f"{np.median(view.prior_support):.1f}"
    low, high = np.quantile(view.d, [0.05, 0.95])
    r_hat, ess = diagnostics["r_hat"], diagnostics["ess"]
    return {
        "P(normal | data) of z": f"{z.probability_normal:.3f} ({view.name}, {view.class_name})",
        "p-value of z": f"{z.p_value:.3g}",
        "surprise of z and 90 % interval": (
            f"{z.surprise:.2f} [{z.surprise_low:.2f}, {z.surprise_high:.2f}], 0 at the cutoff"
        ),
        "d_z: mean and 90 % interval": f"{view.d.mean():.5g} [{low:.5g}, {high:.5g}]",
        "D_opt, the cutoff of d_z": f"{est.cutoff_:.5g}",
        "effective support, posterior": f"{np.median(view.support):.1f} of {M}",
        "effective support, prior": f"{prior} of {M}",
        "largest weight, posterior": f"{diagnostics['largest_weight']:.3f}",
        "R-hat; effective draws": "one estimate" if one_estimate else f"{r_hat:.3f}; {ess:.0f}",
        "sampler": view.fit.draws.report.sampler,
    }
