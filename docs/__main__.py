"""Build the documentation: ``uv run python -m docs``, into docs/_build; warnings are errors.

``uv run python -m docs pictures`` draws the pictures of the models and the gallery of the plots
instead, and ``uv run python -m docs figures`` writes the figures in pages anew from the stored
tables; both are committed. ``uv run python -m docs study NAME --results FOLDER`` stores what
``bsvdd study NAME --out FOLDER`` has found.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

FOLDER = Path(__file__).parent
STRICT = ["--nitpicky", "--fail-on-warning", "--keep-going", "--fresh-env", "--quiet"]


def main(arguments: list[str] | None = None) -> int:
    """Build, draw, or write figures."""
    parser = argparse.ArgumentParser("python -m docs", description=__doc__)
    what = ["site", "pictures", "figures", "study"]
    parser.add_argument("what", nargs="?", choices=what, default="site")
    parser.add_argument("study", nargs="?", help="name of the study")
    parser.add_argument("--results", type=Path, help="folder of the study's results")
    parser.add_argument("--out", type=Path, default=FOLDER / "_build", help="folder of the site")
    chosen = parser.parse_args(arguments)
    if chosen.what == "pictures":
        from . import pictures

        pictures.draw()
        return 0
    if chosen.what == "figures":
        from . import figures

        figures.write()
        return 0
    if chosen.what == "study":
        from . import figures

        figures.store(chosen.study, chosen.results)
        return 0
    out = str(chosen.out)
    status = build_main([*STRICT, "-d", f"{out}/.doctrees", str(FOLDER), out])
    if status == 0:
        print(chosen.out / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
