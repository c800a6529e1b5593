"""The page of the explorer: its controls, buttons, picture and texts. It knows no fit."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from .controls import control
from .ranges import Range
from .state import LABELS, ExplorerState

PENDING = "bsvdd-pending"  # makes the picture pale while it is not that of the controls
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
STYLE = f"<style>.{PENDING} .bsvdd-picture, .{PENDING} .bsvdd-numbers {{opacity: 0.4}}</style>"


class Widgets:
    """The widgets of an explorer, which gives them their callbacks.

    Parameters
    ----------
    state : ExplorerState
        The values of the controls at the start.
    choices, ranges
        As in :func:`.controls.control`.

    Attributes
    ----------
    controls : dict of str: ipywidgets.Widget
    image : Picture
    messages, numbers, status : ipywidgets.HTML
    typed_row, code : ipywidgets.Textarea
    show_row, show_code, cancel : ipywidgets.Button
    pin : ipywidgets.ToggleButton
    page : ipywidgets.Widget
        All of them.
    """

    def __init__(
        self,
        state: ExplorerState,
        choices: Mapping[str, tuple[Any, ...]],
        ranges: Mapping[str, Range],
    ):
        import ipywidgets as w

        from .picture import Picture

        self.controls = {
            name: control(name, getattr(state, name), choices, ranges) for name in LABELS
        }
        self.image = Picture()
        self.messages, self.numbers, self.status = w.HTML(), w.HTML(), w.HTML()
        self.typed_row = w.Textarea(layout=w.Layout(width="330px", height="108px"), rows=5)
        self.show_row = w.Button(description="Show this row", icon="search")
        self.cancel = w.Button(description="Cancel", icon="stop", disabled=True)
        self.pin = w.ToggleButton(description="Pin this setting", icon="thumb-tack")
        self.show_code = w.Button(description="Show the code", icon="code")
        self.code = w.Textarea(layout=w.Layout(width="100%", height="165px", display="none"))
        self._copy = w.HTML(COPY, layout=w.Layout(display="none"))
        for widget, name in (
            (self.typed_row, "typed-row"),
            (self.show_row, "show-row"),
            (self.cancel, "cancel"),
            (self.pin, "pin"),
            (self.show_code, "copy"),
            (self.code, "code"),
        ):
            widget.add_class(f"bsvdd-{name}")
        buttons = [self.cancel, self.pin, self.show_code, w.HTML(SAVE)]
        left = w.VBox(
            [*self.controls.values(), self.typed_row, self.show_row, self.status, *buttons],
            layout=w.Layout(width="345px", flex="0 0 auto", padding="0 12px 0 0"),
        )
        right = w.VBox(
            [self.messages, self.image, self.numbers, self.code, self._copy],
            layout=w.Layout(flex="1 1 0%", min_width="0", overflow="hidden"),
        )
        self.page = w.HBox([left, right, w.HTML(STYLE)])
        self.page.add_class("bsvdd-explorer")

    def show_controls(self, names: frozenset[str]) -> None:
        """Show the controls ``names``, and hide the others."""
        for name, widget in self.controls.items():
            widget.layout.display = None if name in names else "none"

    def set_status(self, text: str, css_class: str) -> None:
        """Show what the explorer does."""
        self.status.value = f'<span class="bsvdd-status {css_class}">{html.escape(text)}</span>'

    @property
    def code_is_shown(self) -> bool:
        """Whether the code has been asked for."""
        return bool(self.code.layout.display != "none")

    def set_code(self, text: str) -> None:
        """Show the code, and the button that copies it."""
        self.code.value = text
        self.code.layout.display = self._copy.layout.display = None

    def close(self) -> None:
        """Take all widgets from the page and from Jupyter's memory."""
        for widget in _with_parts(self.page):
            widget.unobserve_all()
            widget.close()


def _with_parts(widget: Any) -> list[Any]:
    """Return a widget with its children, layouts and styles."""
    parts = [getattr(widget, name, None) for name in ("layout", "style")]
    parts += getattr(widget, "children", ())
    return [widget, *(each for part in parts if part is not None for each in _with_parts(part))]
