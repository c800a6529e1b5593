"""Warnings of this package, shown at the line of the user's code that called it."""

from __future__ import annotations

import os
import warnings

_HERE = os.path.join(os.path.dirname(__file__), "")


class DataWarning(UserWarning):
    """Something in the rows that a fit can live with, but its reader should know."""


class DiagnosticWarning(UserWarning):
    """The draws or the weights are not to be relied on without a look."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of this package's inference."""
    warnings.warn(message, category, skip_file_prefixes=(_HERE,))
