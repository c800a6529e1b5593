"""Self-contained HTML pages: figures are embedded, and each file is written whole or not at all."""

from __future__ import annotations

import base64
import io
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from jinja2 import Environment, FunctionLoader, StrictUndefined
from matplotlib.figure import Figure

from ...estimators.storage.atomic import atomic

Figures = dict[str, tuple[Figure, str]]  # file name: (figure, caption)


def _template(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


_ENVIRONMENT = Environment(
    loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined
)


def write(folder: Path, page: str, template: str, figures: Figures, **values: Any) -> Path:
    """Write a page and its figures as PNG into ``folder``; return the page's path.

    Parameters
    ----------
    folder : path
    page : str
        Name of the file.
    template : str
        Name of the template in this package.
    figures : dict
        Figures and captions by name; the template shows them with the macro ``figure``.
    values
        Values of the template's variables.
    """
    folder.mkdir(parents=True, exist_ok=True)
    embedded = {}
    for name, (figure, caption) in figures.items():
        image = png(figure)
        save(folder / f"{name}.png", image)
        embedded[name] = {
            "name": name,
            "image": base64.b64encode(image).decode(),
            "caption": caption,
        }
    text = _ENVIRONMENT.get_template(template).render(
        version=version("bsvdd"), date=date.today().isoformat(), figures=embedded, **values
    )
    path = folder / page
    save(path, text.encode())
    return path


def save(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, all or nothing."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def png(figure: Figure) -> bytes:
    """Return ``figure`` as PNG and close it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()
