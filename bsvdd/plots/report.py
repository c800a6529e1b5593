"""The report of one fitted model, as one HTML page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from .. import plots
from ..base.atomic import require_replaceable, write
from ..estimators import sentences
from ..estimators.bayesian import Bayesian
from ..estimators.description import Description
from ..estimators.facts import Facts, facts
from ..outliers.stand_out import stand_out
from ..questions.methods import methods
from ..questions.why import explain
from ..tables.table import as_frame
from .common import boxes_for_letters, figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

MOST_LISTED = 10  # oddest rows in the table
MOST_EXPLAINED = 3  # oddest rows with a picture


def report(
    est: Description,
    path: str | Path,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
) -> Path:
    """Write a report of this fit as one HTML file, which needs no network.

    The page has the diagnostics of the fit (:func:`bsvdd.facts`), the paragraph for a
    paper (:func:`bsvdd.methods`), the oddest rows with reasons, pictures of the rows,
    ROC if there are labels, and the code that fits the model again.

    Parameters
    ----------
    est : fitted estimator
    path : str or path
        The file is complete or absent. Its folder must exist.
    X : array-like of shape (m, p), optional
        New rows to report. By default the training rows are reported, each left out.
    y : array-like of shape (m,), optional
        Labels of X, read as ``fit`` reads them. They are only compared with the
        decisions.

    Returns
    -------
    path

    Raises
    ------
    ValueError
        y is given without X; X and y as in ``est.decision`` and ``fit``.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bsvdd import SVDD, report
    >>> est = SVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(est, Path(folder) / "model.html")
    ...     "What P(normal) is" in page.read_text(encoding="utf-8")
    True
    """
    found = facts(est)
    has_draws = found.posterior is not None
    path = Path(path)
    if X is None and y is not None:
        raise ValueError(
            "y has the labels of X, but X is not given: report(est, path, X, y)"
        )
    require_replaceable(path)
    X = None if X is None else pd.DataFrame(as_frame(X))
    decided = est.decision(X)
    order = np.argsort(-decided["surprise"].to_numpy(), kind="stable")[:MOST_LISTED]
    odd = decided.iloc[order].drop(columns="distance", errors="ignore")
    why_none = ""
    try:
        why = explain(est, rows=order) if X is None else explain(est, X.iloc[order])
        odd = odd.assign(reasons=[why.reason(i) for i in range(len(odd))])
    except ValueError as error:  # a kernel matrix has no columns
        why_none = f"There are no reasons: {error}."
    drawn = _pictures(est, found, X, y, order[:MOST_EXPLAINED], explained=not why_none)
    page = render(
        "page.html",
        __package__,
        found=found,
        lines=sentences.fit_lines(found),
        summary=est.summary() if has_draws and isinstance(est, Bayesian) else None,
        methods=methods(est),
        new=X is not None,
        size=len(decided),
        normal=int(decided["normal"].sum()),
        odd=odd,
        why_none=why_none,
        pictures=[image(name, picture) for name, picture in drawn],
    )
    write(path, page)
    return path


def _pictures(
    est: Description,
    found: Facts,
    X: pd.DataFrame | None,
    y: ArrayLike | None,
    odd: np.ndarray,
    explained: bool,
) -> Iterator[tuple[str, Axes | np.ndarray]]:
    """Yield the pictures of a page with their names."""
    yield "distances", plots.plot_distances(est, X, y)
    if found.one_table and X is None:
        yield "outliers", plots.plot_outliers(stand_out(est, est.table_.frame))
    elif "the cutoff" in found.uncertain:
        given = {"rows": odd} if X is None else {"X": X.iloc[odd]}
        yield "margins", plots.plot_margin(est, **given)
    both = 0 < found.minority < found.rows
    if both if X is None else len(np.unique(np.asarray(y))) > 1:
        yield "roc", plots.plot_roc(est, X, y)
    for j in odd if explained else ():
        row = {"row": j} if X is None else {"z": X.iloc[[j]]}
        frame = est.table_.frame if X is None else X
        yield f"row {frame.index[j]}", plots.plot_explanation(est, **row)


# pages, of this and other packages


def render(template: str, package: str, **values: object) -> bytes:
    """Return a page as bytes; all texts are escaped.

    The template is a file of ``package``, and may extend ``page.html`` of this package.
    """
    loader = ChoiceLoader([PackageLoader(each, "") for each in (package, __package__)])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    own = {"version": version("bsvdd"), "date": date.today().isoformat()}
    return environment.get_template(template).render(own | values).encode()


def image(name: str, picture: Axes | np.ndarray, caption: str = "") -> dict[str, str]:
    """Return the figure of axes as texts for the macro ``figure``."""
    content = base64.b64encode(png(figure_of(picture))).decode()
    return {"name": name, "image": content, "caption": caption}


def png(figure: Figure) -> bytes:
    """Return ``figure`` as PNG and close it."""
    buffer = io.BytesIO()
    with boxes_for_letters():
        figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()
