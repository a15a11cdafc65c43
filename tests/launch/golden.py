"""Golden files: what was rendered and read through once, and must not change unseen.

    ATTNJAX_GOLDEN=write .venv/bin/pytest tests/launch

writes them anew; `git diff` shows what changed.
"""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
TEXT = "from tests.tiny import Cosine, ablation  # noqa: F401\n"
"""An experiment file whose text stands in golden files: they do not change with tests/tiny.py."""


def experiment(folder: Path) -> str:
    """Write the experiment file, and return its path."""
    file = folder / "small.py"
    file.write_text(TEXT)
    return str(file)


def same(name: str, text: str, **places: object) -> None:
    """Compare a text with the golden file of a name.

    Args:
        name: of the file.
        text: what was rendered.
        places: paths of this machine and of this test, which stand in the file as $NAME.
    """
    for place, path in {"python": sys.executable, **places}.items():
        text = text.replace(str(path), f"${place.upper()}")
    path = FOLDER / name
    if os.environ.get("ATTNJAX_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
