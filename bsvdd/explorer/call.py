"""Constructor calls, which give an object and its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A constructor call, which gives an object or its code.

    Attributes
    ----------
    constructor : type or function
    name : str
        The constructor in the code, such as ``"kernels.RBF"``.
    arguments : dict
        Values by parameter name; a value can be a call itself.
    """

    constructor: Callable[..., Any]
    name: str
    arguments: dict[str, Any]

    def value(self) -> Any:
        """Return the object."""
        values = {k: v.value() if isinstance(v, Call) else v for k, v in self.arguments.items()}
        return self.constructor(**values)

    def text(self) -> str:
        """Return the code on one line."""
        return f"{self.name}({', '.join(self._arguments())})"

    def block(self) -> str:
        """Return the code with one line for each argument."""
        return f"{self.name}(\n" + "".join(f"    {line},\n" for line in self._arguments()) + ")"

    def _arguments(self) -> list[str]:
        return [
            f"{k}={v.text() if isinstance(v, Call) else repr(v)}" for k, v in self.arguments.items()
        ]
