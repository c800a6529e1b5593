"""Atomic writes: a file is written as a whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

STALE = (
    24 * 3600.0
)  # seconds after which a temporary file counts as left by a killed process
LONGEST = (
    200  # bytes of a file's name in that of its temporary file, which may have 255
)
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it to ``path`` if the block has no error.

    A process that is killed in the block leaves the temporary file behind and ``path``
    unchanged. A later write to ``path`` removes temporary files that are older than a
    day. A file that is replaced keeps its permissions, and a symbolic link is followed.

    Raises
    ------
    OSError
        The disk is full; ``path`` is unchanged.
    """
    path = Path(os.path.realpath(path))
    require_replaceable(path)
    name = path.name.encode()[:LONGEST].decode(errors="ignore")
    remove_stale(path.parent, glob.escape(name))
    temporary = path.with_name(f".{name}.{uuid4().hex}.part")
    try:
        yield temporary
        with open(
            temporary, "rb+"
        ) as file:  # some file systems report a full disk only here
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno)}; nothing was written, and an existing "
                "file is unchanged: free some space and try again",
                str(path),
            ) from error
        raise


def write(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, all or nothing."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def require_replaceable(path: Path) -> None:
    """Raise an OSError if ``path`` is there and no file: a device or pipe would be replaced."""
    if path.exists() and not path.is_file():
        raise OSError(
            f"{path} is no file, but a folder, device or pipe; name another file"
        )


def remove_stale(folder: Path, name: str) -> None:
    """Remove old temporary files in ``folder`` of the files that match the pattern ``name``."""
    for temporary in folder.glob(f".{name}.{'[0-9a-f]' * 32}.part"):
        with suppress(
            OSError
        ):  # another process may remove it first, and it does no harm
            if time.time() - temporary.stat().st_mtime > STALE:
                temporary.unlink()
