"""The build backend: setuptools, and an editable install that is found before a folder ``bsvdd``.

A clone is a folder ``bsvdd`` without an ``__init__.py``. Python takes it for a namespace package
in a script beside the clone, because setuptools puts the finder of an editable install after the
search of ``sys.path``. Here the finder comes first, as an installed package does.
"""

import base64
import hashlib
import os
import zipfile

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  the other hooks of PEP 517 and PEP 660

# a line of a .pth file that begins with "import" is run when Python starts
FIRST = (
    "; import sys; finders = sys.meta_path; "
    "finders.sort(key=lambda finder: getattr(finder, '__module__', '') != '{module}')"
)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the editable wheel of setuptools, with its finder before all others (PEP 660)."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    path = os.path.join(wheel_directory, name)
    with zipfile.ZipFile(path) as wheel:
        files = {member: wheel.read(member) for member in wheel.namelist()}
    (line,) = (member for member in files if member.endswith(".pth"))
    (module,) = (member[:-3] for member in files if member.endswith("_finder.py"))
    text = files[line].decode().rstrip() + FIRST.format(module=module) + "\n"
    files[line] = text.encode()
    (record,) = (member for member in files if member.endswith(".dist-info/RECORD"))
    rows = [row for row in files[record].decode().splitlines() if not row.startswith(line + ",")]
    digest = base64.urlsafe_b64encode(hashlib.sha256(files[line]).digest()).decode().rstrip("=")
    rows.append(f"{line},sha256={digest},{len(files[line])}")
    files[record] = ("\n".join(rows) + "\n").encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, content in files.items():
            wheel.writestr(member, content)
    return name
