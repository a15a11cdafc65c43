"""Programs of the engines: they are called, and what they refuse is passed on in their words."""

import shutil
import subprocess
from collections.abc import Sequence

from attnjax.errors import UserError

LOGIN_NODE = "run this on a machine that submits to SLURM, such as a cluster's login node"
INSTALL = {
    "sbatch": LOGIN_NODE,
    "squeue": LOGIN_NODE,
    "scancel": LOGIN_NODE,
    "sky": "uv tool install 'skypilot[gcp]' (or [aws], [kubernetes], ...), then sky check",
}
"""What to do if a program is missing."""


def need(program: str) -> None:
    """Refuse to go on without a program.

    Raises:
        UserError: the program is not on the path; how to get it.
    """
    if shutil.which(program) is None:
        raise UserError(f"the program {program} is not on this machine: {INSTALL[program]}")


def call(words: Sequence[str], *, text: str | None = None) -> str:
    """Call a program with this standard input; returns what it prints.

    Raises:
        UserError: the program is missing, or it refuses, in its own words.
    """
    need(words[0])
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = "; ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise UserError(f"{words[0]} refuses: {reason or f'exit code {done.returncode}'}")
    return done.stdout
