"""Self-contained HTML pages: templates, embedded figures, and files written whole or not at all."""

from __future__ import annotations

import base64
import io
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from ..atomic import atomic
from ..plots.common import boxes_for_letters

Figures = dict[str, tuple[Figure, str]]  # name: (figure, caption)


def render(template: str, images: dict[str, dict[str, str]], package: str, **values: Any) -> bytes:
    """Return a page as bytes; all texts are escaped.

    Parameters
    ----------
    template : str
        Name of the template.
    images : dict
        As :func:`image` returns them, by name; a template shows them with the macro ``figure``.
    package : str
        The package with the template. What it extends and imports may lie in this package too.
    values
        Values of the template's variables.
    """
    loader = ChoiceLoader([PackageLoader(each, "") for each in (package, __package__)])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    text = environment.get_template(template).render(
        version=version("bsvdd"), date=date.today().isoformat(), figures=images, **values
    )
    return text.encode()


def image(name: str, content: bytes, caption: str) -> dict[str, str]:
    """Return a PNG as texts for :func:`render`."""
    return {"name": name, "image": base64.b64encode(content).decode(), "caption": caption}


def save(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, all or nothing."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def png(figure: Figure) -> bytes:
    """Return ``figure`` as PNG and close it."""
    buffer = io.BytesIO()
    with boxes_for_letters():
        figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()
