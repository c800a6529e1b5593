"""Formulas as MathML, which browsers show themselves: nothing is fetched when a page is read."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def mathml(tex: str, display: str) -> str:
    """Return TeX as MathML, ``display`` being "inline" or "block"."""
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    tex = re.sub(r"\\(log|ln|max|min)(?= [\\\w])", r"\\\1\\,", tex)  # "log p", and not "logp"
    # latex2mathml has a tilde for the relation
    return convert(tex, display=display).replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    self.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
