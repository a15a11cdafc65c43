"""Serves a folder to this machine, and makes its pages again whenever its runs have gone on."""

import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from attnjax.errors import UserError
from attnjax.runs.run_folder import METRICS, RESULT

SECONDS = 10.0
"""The time between two looks at the runs."""


def serve(folder: Path, make: Callable[[], None], port: int, say: Callable[[str], None]) -> None:
    """Serve a folder, whose pages `make` makes, until the program is ended.

    The port 0 is any that is free; `say` gets the address in a sentence.
    """
    make()
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise UserError(f"port {port} cannot be served ({error}); give another --serve") from error
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        say(f"http://localhost:{server.server_port}/ follows {folder}; Ctrl-C ends it")
        seen = _state(folder)
        try:
            while True:
                time.sleep(SECONDS)
                if (now := _state(folder)) != seen:
                    seen = now
                    make()
        finally:
            server.shutdown()


def _state(folder: Path) -> dict[Path, int]:
    """The sizes of all logs and results below a folder."""
    paths = [path for name in (METRICS, RESULT) for path in folder.glob(f"**/seed-*/{name}")]
    return {path: path.stat().st_size for path in paths if path.exists()}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass
