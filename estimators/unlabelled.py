"""Rows without a label, which a fit takes if its prior does."""

from __future__ import annotations

import numpy as np

from .dictionary import MAX_POINTS
from .rows.blocks import ArrayRows, Rows
from .training import Dictionary


def separated(
    source: Rows,
    labelled: np.ndarray,
    minority: np.ndarray,
    dictionary: Dictionary,
    pairwise: bool,
) -> tuple[Rows, np.ndarray]:
    """Return the rows with a label as a source of their own, and the others, shape (u, p).

    Parameters
    ----------
    source : Rows
        All rows.
    labelled : ndarray of bool, shape (n,)
        Which of them have a label.
    minority : ndarray of bool
        Which of those with a label are minority.
    dictionary : Dictionary
    pairwise : bool
        Whether the kernel is precomputed.

    Raises
    ------
    ValueError
        The kernel is precomputed, the rows are read in blocks, one row only has a label, or the
        rows are too many for a graph.
    """
    u = int((~labelled).sum())
    if pairwise:
        raise ValueError(
            f"y has no label in {u} row(s), and with a precomputed kernel priors.GraphLaplacian "
            "takes no unlabelled rows; leave out these rows and columns of X and these labels, or "
            "use a kernel of rows such as kernels.RBF"
        )
    if dictionary.reads_blocks:
        raise ValueError(
            f"y has no label in {u} row(s), but a fit with landmarks reads rows in blocks and "
            "takes no unlabelled rows from y; give these rows by "
            "priors.GraphLaplacian(unlabelled=rows), or use dictionary=None (up to "
            f"{MAX_POINTS} rows)"
        )
    n = u + int((~minority).sum())
    if n > MAX_POINTS:
        raise ValueError(
            f"y has no label in {u} row(s), and the graph of {n} majority and unlabelled rows "
            f"needs {8e-9 * n * n:.1f} GB; up to {MAX_POINTS} rows are accepted: leave out some "
            "of the rows without a label"
        )
    if len(minority) < 2:
        raise ValueError(f"y has a label in {len(minority)} row(s); expected at least 2")
    rows = source.take(slice(None))
    with_label = ArrayRows(rows[labelled], is_checked=True)
    with_label.categorical = source.categorical
    return with_label, rows[~labelled]
