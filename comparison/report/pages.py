"""A page with its figures in a folder: one HTML file, and the same figures as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...estimators.report import pages
from ...estimators.report.pages import Figures, png, save

__all__ = ["Figures", "png", "save", "write"]


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
    images = {}
    for name, (figure, caption) in figures.items():
        content = png(figure)
        save(folder / f"{name}.png", content)
        images[name] = pages.image(name, content, caption)
    path = folder / page
    save(path, pages.render(template, images, __package__, **values))
    return path
