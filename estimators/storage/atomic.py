"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

STALE = 24 * 3600.0  # seconds after which a half-written file is that of a write that was killed
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path``, renamed to it when the block ends without error.

    A process that is killed in the block leaves the temporary file, and ``path`` as it was; the
    next write to ``path`` removes what lies there untouched for a day.

    Raises
    ------
    OSError
        The disk is full; ``path`` is as it was.
    """
    remove_stale(path.parent, glob.escape(path.name))
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield temporary
        with open(temporary, "rb+") as file:  # some file systems find only now that they are full
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno)}; nothing was written, and what was there is as it "
                "was: make room, and run the same again",
                str(path),
            ) from error
        raise


def remove_stale(folder: Path, name: str = "*") -> None:
    """Remove what killed writes to the files ``name``, a pattern, left in ``folder`` long ago."""
    for left in folder.glob(f".{name}.{'[0-9a-f]' * 32}.part"):
        with suppress(OSError):  # another may remove it too, and it is not in the way
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink()
