"""Build the documentation into docs/_build: ``uv run python -m docs``.

Warnings are errors.

``uv run python -m docs pictures`` draws the pictures of the models, of the gallery and
of the guide instead; they are committed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

FOLDER = Path(__file__).parent
STRICT = ["--nitpicky", "--fail-on-warning", "--keep-going", "--fresh-env", "--quiet"]


def main(arguments: list[str] | None = None) -> int:
    """Build or draw."""
    parser = argparse.ArgumentParser("python -m docs", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["site", "pictures"], default="site")
    parser.add_argument(
        "--out", type=Path, default=FOLDER / "_build", help="folder of the site"
    )
    chosen = parser.parse_args(arguments)
    if chosen.what == "pictures":
        from . import pictures

        pictures.draw()
        return 0
    out = str(chosen.out)
    status = build_main([*STRICT, "-d", f"{out}/.doctrees", str(FOLDER), out])
    if status == 0:
        print(chosen.out / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
