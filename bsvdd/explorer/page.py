"""The panels of the page, by ``panels.html``, with figures of ``bsvdd.plots``."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..base.messages import of_value
from ..estimators.posterior_checks import (
    TOTAL,
    have_same_draws,
    monte_carlo_error,
    posterior_checks,
    worst,
)
from ..plots.common import DARK, PRIOR, boxes_for_letters, short
from ..plots.named import changed, draw_columns, draw_named_surprises, least_sure
from ..plots.prior import draw_prior_posterior
from ..plots.rows import draw_map, mesh_of

if TYPE_CHECKING:
    from .settings import Setting, Settings

MOVERS = 10
MOST_NAMES_OFFERED = 2000
MESH = 36  # steps of the map along each axis
PNG_DPI = 140
STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@cache
def _templates() -> Any:
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["short"] = short
    return environment.get_template("panels.html").module


def quick(explorer: Settings) -> dict[str, str]:
    """Return the panels that need no picture, as HTML by name."""
    now, past = explorer.now, explorer.past
    n = len(explorer.names)
    counted = _counted(explorer)
    checks = posterior_checks(now.posterior, counted)
    was = [] if past is None else posterior_checks(past.posterior, counted)
    html = _templates()
    grade = worst(checks)
    return {
        "controls": html.controls(
            explorer.controls.shown(now.values),
            explorer.numeric,
            [*explorer.columns, "", ""][:2],
            explorer.names[:MOST_NAMES_OFFERED],
            explorer.names[explorer.row],
        ),
        "history": html.history(explorer.settings[::-1], now, past),
        "verdict": html.verdict(now, past, n, **_difference(now, past)),
        "decisions": html.decisions(
            _lines(explorer), monte_carlo_error(now.posterior), past is not None
        ),
        "checks": html.checks(
            checks, grade, TOTAL[grade], {each.name: each.word for each in was}
        ),
        "code": html.code(explorer.code),
    }


def _counted(explorer: Settings) -> int:
    """Return the number of rows that have a weight."""
    return int((explorer.est.gram_.rows.weight > 0.0).sum())


def _difference(now: Setting, past: Setting | None) -> dict[str, Any]:
    """Return how many decisions change, and by how much P(normal) moves."""
    if past is None:
        return {"lost": 0, "won": 0, "mean": 0.0, "most": 0.0}
    a, b = (each.decision["normal"].to_numpy(bool) for each in (past, now))
    P = "probability_normal"
    moved = np.abs(now.decision[P] - past.decision[P])
    return {
        "lost": int((a & ~b).sum()),
        "won": int((~a & b).sum()),
        "mean": moved.mean(),
        "most": moved.max(),
    }


def _lines(explorer: Settings) -> list[dict[str, Any]]:
    """Return the ten rows that move most, changed ones first; else the least sure."""
    now = explorer.now.decision
    past = now if explorer.past is None else explorer.past.decision
    P, Q = (each["probability_normal"].to_numpy() for each in (now, past))
    rows = least_sure(now, None, MOVERS)
    if explorer.past is not None:
        order = np.argsort(-np.abs(P - Q), kind="stable")
        different = changed(now, past)
        rows = np.array([*dict.fromkeys([*different, *order])][:MOVERS])
    word = np.array(["abnormal", "normal"])
    return [
        {
            "name": explorer.names[i],
            "focus": i == explorer.row,
            "P": P[i],
            "before": Q[i],
            "now": word[int(now["normal"].iloc[i])],
            "was": word[int(past["normal"].iloc[i])],
        }
        for i in rows
    ]


def pictures(explorer: Settings) -> dict[str, str]:
    """Return the panels with pictures and reasons, as HTML by name."""
    html = _templates()
    before = explorer.before
    support = explorer.now.posterior.quantities["effective_support"]
    return {
        "picture": html.picture(
            _image(_rows, explorer, 6.0, 3.7),
            explorer.columns,
            len(explorer.numeric) < 2,
            _has_map(explorer),
            explorer.past is not None,
        ),
        "prior": html.prior(
            _image(_prior, explorer, 4.3, 2.9),
            support,
            _counted(explorer),
            before is not None and not have_same_draws(before, explorer.est),
        ),
        "row": _row(explorer),
    }


def _image(
    draw: Callable[[Figure, Settings], None],
    explorer: Settings,
    width: float,
    height: float,
) -> str:
    """Return a figure as base64."""
    file = io.BytesIO()
    with mpl.rc_context(STYLE), boxes_for_letters():
        figure = Figure(figsize=(width, height), dpi=PNG_DPI)
        FigureCanvasAgg(figure)
        draw(figure, explorer)
        figure.savefig(file, format="png", pil_kwargs={"compress_level": 1})
    return base64.b64encode(file.getvalue()).decode()


def _prior(figure: Figure, explorer: Settings) -> None:
    axes = figure.subplots(2, 1)
    figure.subplots_adjust(left=0.03, right=0.95, top=0.92, bottom=0.15, hspace=0.55)
    draw_prior_posterior(axes, explorer.est, explorer.before)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.95), "borderpad": 0.0}
    axes[0].legend(frameon=False, fontsize=7.5, ncols=4, **above)


def _has_map(explorer: Settings) -> bool:
    """Return whether the two columns that are drawn are all there are."""
    frame = None if explorer.est.kernel_.pairwise else explorer.est.table_.frame
    return bool(explorer.columns) and frame is not None and frame.shape[1] == 2


def _rows(figure: Figure, explorer: Settings) -> None:
    """Draw two columns, over a map if there are no others, or rows by surprise."""
    now, past = explorer.now.decision, explorer.past and explorer.past.decision
    longest = 0.05 + 0.0125 * max(len(short(name)) for name in explorer.names)
    ax = figure.add_axes((0.11, 0.13, 0.87 - longest, 0.82))
    if not explorer.columns:
        ax.set_position((longest, 0.13, 0.98 - longest, 0.85))
        rows = least_sure(now, past)
        draw_named_surprises(ax, now, past, rows, explorer.row)
        return
    frame = explorer.est.table_.measured.rename(columns=str)[explorer.columns]
    if _has_map(explorer):
        _map(ax, explorer, frame.to_numpy(float))
    draw_columns(ax, frame, now, past, explorer.row)


def _map(ax: Any, explorer: Settings, rows: np.ndarray) -> None:
    """Draw P(normal) of new rows now, and where it is .5, now and before."""
    mesh = mesh_of(rows, MESH)
    own = explorer.est.table_.frame.columns
    order = [explorer.columns.index(str(c)) for c in own]
    grid = np.reshape(mesh, (2, -1)).T[:, order]
    grid = pd.DataFrame(grid, columns=own)
    for setting, color in ((explorer.past, PRIOR), (explorer.now, DARK)):
        if setting is not None:
            P = setting.est.probability_normal(grid).reshape(MESH, MESH)
            if setting is explorer.now:
                draw_map(ax, *mesh, P)
            line = "--" if setting is explorer.past else "-"
            ax.contour(*mesh, P, [0.5], colors=color, linestyles=line, zorder=2)
    ax.set(xlim=mesh[0][0, [0, -1]], ylim=mesh[1][[0, -1], 0])


def _row(explorer: Settings) -> str:
    """Return the row in focus: its decision, reasons, rows like it, sensitivity."""
    i = explorer.row
    now, past = explorer.now, explorer.past
    why = now.why(i)
    reason, normal_with, near = str(why), "", []
    if not isinstance(why, str):
        reason = why.reason(0)
        normal_with = ", ".join(
            f"{of_value(c)} = {of_value(v, 6)}" for c, v in why.change(0).items()
        )
        near = [str(name) for name in why.nearest.iloc[0, :3]]
    of, variable, hangs = now.hangs_on(i)
    unique = map(str, now.est.gram_.rows.unique_names)
    of_names = dict(zip(unique, explorer.names, strict=True))
    was = None if past is None else past.decision["probability_normal"].iloc[i]
    return str(
        _templates().row(
            explorer.names[i],
            now.decision.iloc[i],
            was,
            reason,
            normal_with,
            near,
            of,
            variable,
            [
                (of_names.get(str(each.row), str(each.row)), each.derivative)
                for each in hangs.itertuples()
            ],
            explorer.names,
        )
    )
