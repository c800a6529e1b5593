"""Constructor calls, which give an object and its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Given:
    """An object that the user made, in a call.

    Attributes
    ----------
    object : object
    text : str
        How the code names it.
    """

    object: Any
    text: str


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
        return self.constructor(**{k: _value(v) for k, v in self.arguments.items()})

    def text(self) -> str:
        """Return the code on one line."""
        return f"{self.name}({', '.join(self._arguments())})"

    def block(self) -> str:
        """Return the code with one line for each argument."""
        return f"{self.name}(\n" + "".join(f"    {line},\n" for line in self._arguments()) + ")"

    def _arguments(self) -> list[str]:
        return [f"{k}={_text(v)}" for k, v in self.arguments.items()]


def _value(argument: Any) -> Any:
    if isinstance(argument, Given):
        return argument.object
    return argument.value() if isinstance(argument, Call) else argument


def _text(argument: Any) -> str:
    if isinstance(argument, Given):
        return argument.text
    return argument.text() if isinstance(argument, Call) else repr(argument)
