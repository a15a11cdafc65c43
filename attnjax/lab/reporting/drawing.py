"""Drawing charts in a process of its own, because the drawing library may end its process.

The library runs a JavaScript engine, which reserves an address space of many gigabytes, and aborts
where a batch system or a shared machine limits it (`ulimit -v`).
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Timer
from typing import Any

from attnjax.errors import warn

SECONDS = 120.0
"""The longest time for one chart."""

PROGRAM = """
import json, sys, vl_convert
for line in sys.stdin:
    try:
        chart = json.loads(line)
        bundle = not chart and vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed")
        answer = {"text": bundle or vl_convert.vegalite_to_svg(chart)}
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
"""

_drawers: "list[_Drawer]" = []


def svg(chart: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification as SVG.

    Raises:
        ValueError: the chart cannot be drawn, or the process has ended. A warning says so once.
    """
    with in_one_process():
        return _drawers[-1].text(chart)


@cache
def runtime() -> str:
    """Return the JavaScript program that draws a chart in a browser: `vegaEmbed`; see `svg`."""
    with in_one_process():
        return _drawers[-1].text({})


@contextmanager
def in_one_process() -> Iterator[None]:
    """Draw all charts of this block in one process, which begins with the first."""
    if _drawers:
        yield
        return
    _drawers.append(_Drawer())
    try:
        yield
    finally:
        _drawers.pop().close()


class _Drawer:
    """A process that draws one chart after the other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._ended = ""
        self._late = False

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def text(self, chart: dict[str, Any]) -> str:
        """Return the SVG of a chart; the runtime, if the chart is empty."""
        if self._ended:
            raise ValueError(self._ended)
        try:
            answer = self._answer(json.dumps(chart))
        except (OSError, ValueError) as error:
            reason, hint = self._reason(error)
            self._ended = f"the process that draws ended ({reason})"
            warn(f"{self._ended}, so the report lacks figures; {hint}")
            raise ValueError(self._ended) from error
        if "text" not in answer:
            raise ValueError(answer["error"])
        return answer["text"]

    def _answer(self, line: str) -> dict[str, str]:
        if self._process is None:
            # -P: a file of the current folder is no module of this program
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        assert self._process.stdin
        assert self._process.stdout
        giving_up = Timer(SECONDS, self._give_up)
        giving_up.start()
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        finally:
            giving_up.cancel()

    def _give_up(self) -> None:
        self._late = True
        assert self._process
        self._process.kill()

    def _reason(self, error: Exception) -> tuple[str, str]:
        """Return why the process has ended, in a word or two, and what to look at."""
        limit = "a limit of memory may be too low"
        if self._process is None:
            return str(error), limit
        self.close()
        if self._late:
            return f"no chart in {SECONDS:g} s", "`attnjax report` draws again when less else runs"
        code = self._process.returncode
        if code < 0:
            return signal.Signals(-code).name, limit
        return f"exit code {code}", f"`{sys.executable} -c 'import vl_convert'` may say why"
