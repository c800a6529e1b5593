"""The stored tables in the pages of docs: ``python -m benchmarks.page``."""

from __future__ import annotations

import re

from bsvdd.base.atomic import write as write_file

from .measure import STORED, stored

DOCS = STORED.parent
BLOCK = re.compile(r"(<!-- table: (\w+), (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def rewritten(text: str) -> str:
    """Return a page with its stored tables, each with command, commit and date."""

    def block(found: re.Match[str]) -> str:
        if not (STORED / f"{found[2]}.json").exists():  # it has not been measured yet
            return found[0]
        of = stored(found[2])
        head, *lines = of["tables"][found[3]]
        rows = "\n".join(
            f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines)
        )
        when = f"`{of['command']}`, {of['commit']}, {of['date']}."
        return f"{found[1]}{rows}\n\n{when}\n{found[4]}"

    return BLOCK.sub(block, text)


def write() -> None:
    """Write the tables of all pages anew."""
    for path in DOCS.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if (new := rewritten(text)) != text:
            write_file(path, new.encode())


if __name__ == "__main__":
    write()
