"""`python -m attnjax`: the same as `attnjax`."""

import sys

from attnjax.cli import main

if __name__ == "__main__":
    sys.exit(main())
