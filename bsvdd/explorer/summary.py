"""Numbers and messages of the explorer, as HTML."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ..estimators.plots.common import MAJORITY, MINORITY
from .panels import BEFORE
from .plane import Plane
from .state import LABELS
from .view import View

MOST_COLUMNS = 4  # of the explanation of z


def message(kind: str, text: str) -> str:
    """Return an error or a warning as a box."""
    color, title = {"error": ("#B00020", "Error"), "warning": ("#8A5A00", "Warning")}[kind]
    return (
        f'<div class="bsvdd-{kind}" style="border-left:4px solid {color};padding:2px 8px;'
        f'margin:2px 0;line-height:1.35;white-space:normal"><b style="color:{color}">{title}.</b> '
        f"{html.escape(text)}</div>"
    )


def tables(view: View, before: View | None, plane: Plane, pinned: bool = False) -> str:
    """Return the numbers of this setting and, in grey, of the one before or pinned, as tables."""
    grey = "the pinned setting" if pinned else "the setting before"
    caption = (
        f"{plane.caption} Counts: each training row is classified by the centre without that row "
        "(left out), as in the choice of the cutoff. d_z and P(normal) of z use the full centre. "
        "The surprise is log(similarity at the cutoff / similarity of z): .69 is half as similar."
    )
    side_by_side = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:8px 36px"
    return (
        f'<div class="bsvdd-numbers" style="line-height:1.35;white-space:normal">'
        f'<div style="margin-bottom:6px">{html.escape(_changes(view, before, grey))}</div>'
        f'<div style="{side_by_side}">{_why(view)}{_counts(view, before)}'
        f"{_statistics(view, before, grey)}</div>"
        f'<div style="margin-top:6px;font-size:90%;max-width:62em">{html.escape(caption)}</div>'
        "</div>"
    )


def _changes(view: View, before: View | None, grey: str) -> str:
    """Return the differences between the two settings in words."""
    if before is None:
        return "This is the first setting. After a change, the setting before is in grey."
    if before.state == view.state:
        return f"This is {grey}."
    new, old = view.state, before.state
    relevant = (new.relevant | old.relevant) - {"row"}
    changed = [
        f"{LABELS[n]} {_value(getattr(old, n))} → {_value(getattr(new, n))}"
        for n in LABELS
        if n in relevant and getattr(old, n) != getattr(new, n)
    ]
    if (new.row, new.z) != (old.row, old.z):
        changed.append(f"point z {before.name} → {view.name}")
    if new.own_prior is not old.own_prior:
        changed.append("prior typed in a cell" if new.own_prior is not None else "prior")
    return f"Changed: {'; '.join(changed)}. Grey is {grey}."


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cells(tag: str, *cells: str) -> str:
    return "".join(
        f'<{tag} style="padding:1px 10px 1px 0;text-align:left">{c}</{tag}>' for c in cells
    )


def _grey(text: str) -> str:
    return f'<span class="bsvdd-before" style="color:{BEFORE}">{text}</span>'


def _counts(view: View, before: View | None) -> str:
    rows = [_cells("th", "left-out decision", "normal", "abnormal")]
    for i, name in enumerate(("majority", "minority")):
        if not view.counts[i].sum():
            continue
        cells = [
            str(n) if before is None else f"{n} {_grey(f'({before.counts[i, j]})')}"
            for j, n in enumerate(view.counts[i])
        ]
        rows.append(_cells("th", name) + _cells("td", *cells))
    return f'<table class="bsvdd-confusion">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _statistics(view: View, before: View | None, grey: str) -> str:
    new, old = _values(view), {} if before is None else _values(before)
    rows = [_cells("th", "", "this setting", *([_grey(grey.removeprefix("the "))] if old else []))]
    for name, value in new.items():
        value_before = [_grey(html.escape(old[name]))] if old else []
        rows.append(
            _cells("th", html.escape(name)) + _cells("td", html.escape(value), *value_before)
        )
    return f'<table class="bsvdd-summary">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _why(view: View) -> str:
    """Return the largest terms of columns, training rows and the smallest change, as a table."""
    why, names = view.why, view.est.fit_.data.row_names
    normal = bool(why.rows["normal"].iloc[0])
    title = f"why {view.name} is {'normal' if normal else 'abnormal'}"
    rows = [_cells("th", html.escape(title), "", "share [90 %]", "smallest change")]
    color = MAJORITY if normal else MINORITY
    if why.columns is not None:
        of_row = why.columns.isel(obs=0)
        shares = of_row["share"].values
        order = np.argsort(-shares, kind="stable")
        for f in order[:MOST_COLUMNS]:
            share, low, high = (
                float(of_row[name].values[f]) for name in ("share", "share_low", "share_high")
            )
            cells = [
                html.escape(f"column {of_row['column'].values[f]}"),
                _bar(share, color),
                f"{share:.0%} [{low:.0%}, {high:.0%}]",
            ]
            if why.changes is not None and why.changes["change"].values[0, f] != 0.0:
                cells.append(f"→ {why.changes['value'].values[0, f]:.3g}")
            else:
                cells.append("")
            rows.append(_cells("td", *cells))
        others: dict[str, float] = {}
        if len(order) > MOST_COLUMNS:
            n = len(order) - MOST_COLUMNS
            others[f"{n} more column{'s' if n > 1 else ''}"] = shares[order[MOST_COLUMNS:]].sum()
        if why.kind == "surprise":
            others["few neighbours"] = max(0.0, 1.0 - shares.sum())
        for name, share in others.items():
            rows.append(_cells("td", name, _bar(share, color), f"{share:.0%}", ""))
    points = why.points.isel(obs=0)
    what = "share" if why.kind == "surprise" else "term"
    for j in range(points.sizes["rank"]):
        row, mean = int(points["row"].values[j]), float(points["mean"].values[j])
        name = f"training row {names[row]}" if row >= 0 else "a landmark"
        is_share = why.kind == "surprise"
        shown = f"{mean:.0%}" if is_share else f"{mean:.3g}"
        bar = _bar(mean, color) if is_share else ""
        rows.append(_cells("td", html.escape(name), bar, f"{what} {shown}", ""))
    return f'<table class="bsvdd-why">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _bar(share: float, color: str) -> str:
    """Return a bar that is as long as a share."""
    return f'<div style="width:{80 * min(share, 1.0):.0f}px;height:10px;background:{color}"></div>'


def _values(view: View) -> dict[str, str]:
    est, z, M = view.est, view.decision, view.weights.shape[1]
    diagnostics = est.fit_.diagnostics
    one_estimate = len(view.support) == 1
    without_prior = "not drawn" if one_estimate else "improper"
    prior = f"{np.median(view.prior_support):.1f}" if len(view.prior_support) else without_prior
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
        "sampler": est.fit_.draws.report.sampler,
    }
