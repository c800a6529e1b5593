"""The page of the explorer as a server of this machine, without Jupyter."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, override

from .explorer import HERE

if TYPE_CHECKING:
    from .explorer import Explorer

LONGEST_REQUEST = 10_000  # bytes of what the page sends
SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src "
    "'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{}</title>'
    '<link rel="stylesheet" href="page.css"><body><div id="page"></div>'
    '<script type="module" src="start.js"></script></body></html>'
)
TYPES = {"page.css": "text/css", "page.js": "text/javascript"}


class Server(ThreadingHTTPServer):
    """Serves one explorer at 127.0.0.1, to those who know the token of its address.

    The port is taken at once; ``explorer`` is set before the first answer.

    Parameters
    ----------
    title : str
    port : int, default=0
        0 takes a free one.

    Raises
    ------
    OSError
        The port is in use.
    """

    explorer: Explorer
    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, title: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.token = secrets.token_urlsafe(24)
        self.lock = threading.Lock()
        self.files = {"": ("text/html", PAGE.format(escape(title)))}
        for name, kind in {**TYPES, "start.js": "text/javascript"}.items():
            self.files[name] = (kind, (HERE / name).read_text(encoding="utf-8"))

    @property
    def address(self) -> str:
        """The address with its token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """Answers the page, and what it asks."""

    server: Server

    def do_GET(self) -> None:
        """Answer a file of the page."""
        name = self._name()
        if name is None:
            self._refuse(403)
        elif name in self.server.files:
            self._answer(*self.server.files[name])
        else:
            self._refuse(404)

    def do_POST(self) -> None:
        """Answer what was moved."""
        name = self._name()
        if name is None:
            return self._refuse(403)
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get_content_type() == "application/json"
        size = int(length) if length.isascii() and length.isdigit() else 0
        if name != "state" or not is_json or not 0 < size <= LONGEST_REQUEST:
            return self._refuse(400)
        try:
            asked = json.loads(self.rfile.read(size))
        except ValueError:  # no JSON
            return self._refuse(400)
        if not isinstance(asked, dict):
            return self._refuse(400)
        with self.server.lock:
            state = self.server.explorer.answer(asked)
        self._answer("application/json", json.dumps(state))

    def _name(self) -> str | None:
        """Return the file that is asked for; None without token or from elsewhere."""
        port = self.server.server_port
        hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
        origin = self.headers.get("Origin")
        is_near = self.headers.get("Host") in hosts and (
            origin is None or origin.removeprefix("http://") in hosts
        )
        token, _, name = self.path.removeprefix("/").partition("/")
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        return name if is_near and known else None

    def _refuse(self, status: int) -> None:
        """Answer with a status and nothing else."""
        self.send_response_only(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response_only(200)
        for name, value in {"Content-Type": f"{kind}; charset=utf-8", **SAFE}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @override
    def log_message(self, *_: object) -> None:
        """Say nothing: a log would have the token."""
