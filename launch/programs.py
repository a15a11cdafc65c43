"""Programs of the engines: they are called, and what they refuse is passed on in their words."""

import shutil
import subprocess
from collections.abc import Sequence

from attnjax.errors import UserError

SLURM = "run this on a machine that submits to SLURM, such as a cluster's login node"
SKY = "uv tool install 'skypilot[gcp]' (or [aws], [kubernetes], ...), then sky check"


def need(program: str) -> None:
    """Refuse to go on without a program."""
    if shutil.which(program) is None:
        hint = SKY if program == "sky" else SLURM
        raise UserError(f"the program {program} is not on this machine: {hint}")


def call(words: Sequence[str], *, text: str | None = None) -> str:
    """Call a program with this standard input; returns what it prints."""
    need(words[0])
    done = subprocess.run(
        words, input=text, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        reason = "; ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise UserError(f"{words[0]} refuses: {reason or f'exit code {done.returncode}'}")
    return done.stdout
