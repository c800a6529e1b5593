"""Make the executed notebooks from their text: ``uv run python -m notebooks``.

With names only those are made, for instance ``01_quick_start``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jupytext
from nbclient import NotebookClient

from bsvdd.base.atomic import atomic

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("[0-9][0-9]_*.py"))


def read(name: str) -> Any:
    """Return the notebook without outputs, from its text."""
    notebook = jupytext.read(FOLDER / f"{name}.py")
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i:02}"  # by chance otherwise, and new each time
    return notebook


def execute(notebook: Any, manager: Any = None) -> None:
    """Run all cells, in a kernel of their own or of ``manager``; an error ends it."""
    client = NotebookClient(
        notebook, km=manager, kernel_name="python3", timeout=600, record_timing=False
    )
    client.execute(cwd=str(FOLDER))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not _is_progress(each)]
    if client.kc is not None:  # to a kernel that goes on
        client.kc.stop_channels()


def _is_progress(output: Any) -> bool:
    """Return whether an output tells only how long a step took, which is of the machine."""
    if output.output_type != "stream" or output.name != "stderr":
        return False
    return all(line.endswith(" s so far") for line in output.text.strip().splitlines())


def main(arguments: list[str] | None = None) -> None:
    """Execute and save."""
    parser = argparse.ArgumentParser("python -m notebooks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}"
    )
    chosen = parser.parse_args(arguments).names
    unknown = set(chosen) - set(NAMES)
    if unknown:
        parser.error(f"no notebooks {sorted(unknown)}; there are {', '.join(NAMES)}")
    for name in chosen or NAMES:
        print(name, flush=True)
        notebook = read(name)
        execute(notebook)
        with atomic(FOLDER / f"{name}.ipynb") as temporary:
            temporary.write_text(
                jupytext.writes(notebook, fmt="ipynb"), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
