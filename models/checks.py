"""Checks of numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any

SMALLEST = 1e-100  # its square and the inverse of its square are finite


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number; a boolean is not."""
    return isinstance(value, Real) and not isinstance(value, bool)
