"""The program: `attnjax`, or `python -m attnjax`.

The handler of Ctrl-C is installed before anything of the package is imported.
"""

import os
import signal
import sys
from types import FrameType

IMPORTING = "<frozen importlib._bootstrap>"
"""The file name of Python's frames that import a module."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C: end the program at once during an import, else raise KeyboardInterrupt.

    During an import an exception may be swallowed by the imported module.
    """
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            os.write(2, b"attnjax: interrupted\n")
            os._exit(128 + number)
        frame = frame.f_back
    raise KeyboardInterrupt


def start() -> int:
    """Run the command line, and return its exit code."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        from attnjax.lab.cli.main import main

        return main()
    except KeyboardInterrupt:
        os.write(2, b"attnjax: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(start())
