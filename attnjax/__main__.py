"""The program: `attnjax`, or `python -m attnjax`."""

import sys

from attnjax.cli.large_pages import start_with_large_pages
from attnjax.cli.main import main


def start() -> int:
    """Run the command line in a process with large pages; returns its exit code."""
    start_with_large_pages()
    return main()


if __name__ == "__main__":
    sys.exit(start())
