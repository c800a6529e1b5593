"""A page with its figures in a folder: one HTML file, and the same figures as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...estimators.report import pages
from ...estimators.report.pages import Figures, png, save

__all__ = ["Figures", "png", "save", "write"]


def write(folder: Path, page: str, template: str, figures: Figures, **values: Any) -> Path:
    """Write a page, then its figures as PNG into ``folder``; return the page's path.

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
    content = {name: png(figure) for name, (figure, _) in figures.items()}
    images = {
        name: pages.image(name, content[name], caption) for name, (_, caption) in figures.items()
    }
    path = folder / page
    save(path, pages.render(template, images, __package__, **values))
    for name, image in content.items():
        save(folder / f"{name}.png", image)
    return path
