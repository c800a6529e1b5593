"""Build the documentation: ``uv run python -m docs``, into docs/_build; warnings are errors.

``uv run python -m docs pictures`` draws the pictures of the models and the gallery of the plots
instead, and ``uv run python -m docs figures`` writes the figures in pages anew from the stored
tables; both are committed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

FOLDER = Path(__file__).parent


def build(out: Path) -> int:
    """Build the site into ``out``; return 0, or 1 where there was a warning."""
    strict = ["--nitpicky", "--fail-on-warning", "--keep-going", "--fresh-env", "--quiet"]
    return build_main([*strict, "-d", str(out / ".doctrees"), str(FOLDER), str(out)])


def main(arguments: list[str] | None = None) -> int:
    """Build, draw, or write figures."""
    parser = argparse.ArgumentParser("python -m docs", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["site", "pictures", "figures"], default="site")
    parser.add_argument("--out", type=Path, default=FOLDER / "_build", help="folder of the site")
    chosen = parser.parse_args(arguments)
    if chosen.what == "pictures":
        from . import gallery, pictures

        pictures.draw()
        gallery.draw()
        return 0
    if chosen.what == "figures":
        from . import figures

        figures.write()
        return 0
    status = build(chosen.out)
    if status == 0:
        print(chosen.out / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
