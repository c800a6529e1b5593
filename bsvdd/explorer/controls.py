"""The controls of the explorer: a widget for each field of its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .ranges import DIGITS, Range, log10_limits
from .state import LABELS


def control(
    name: str,
    value: Any,
    choices: Mapping[str, tuple[Any, ...]],
    ranges: Mapping[str, Range],
) -> Any:
    """Return a checkbox, a list or a slider for the field ``name``.

    Parameters
    ----------
    name : str
    value
        The value at the start.
    choices : dict of str: tuple
        The values of each field that is no number.
    ranges : dict of str: Range
        The numbers that each other field can take.
    """
    import ipywidgets as w

    common = {
        "description": LABELS[name],
        "style": {"description_width": "112px"},
        "layout": w.Layout(width="330px"),
    }
    if name in ("bounded", "calibrated", "published"):
        widget = w.Checkbox(value, indent=True, **common)
    elif name in choices:
        widget = w.Dropdown(options=list(choices[name]), value=value, **common)
    else:
        widget = _slider(ranges[name], common | {"continuous_update": False, "value": value})
    widget.add_class(f"bsvdd-{name.replace('_', '-')}")
    return widget


def _slider(limits: Range, options: dict[str, Any]) -> Any:
    import ipywidgets as w

    if limits.whole:
        return w.IntSlider(min=int(limits.low), max=int(limits.high), **options)
    options |= {"step": limits.step, "readout_format": f".{DIGITS}g"}
    if not limits.log:
        return w.FloatSlider(min=limits.low, max=limits.high, **options)
    low, high = log10_limits(limits)
    return w.FloatLogSlider(base=10.0, min=low, max=high, **options)
