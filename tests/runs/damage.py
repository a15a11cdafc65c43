"""Damages to a file of JSON and to a folder, drawn by a seed: what somebody could hand over."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.config.sealed import sealed
from attnjax.config.serialize import finite

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**31, 10**400, 1e308, -1e308, "", "a", "..", "../../x", "/etc/passwd",
    "evil.py", "a/b", "\n", "\x1b[2J\x1b]0;x\x07", "<script>alert(1)</script>", "[link=x]y[/z]",
    "\u202e", "\ud800", "x" * 5000, [], {}, [None], [[1], ["a"]], [10**400], {"type": "os.system"},
    {"type": "attnjax.__main__.start"}, {"type": "attnjax.evaluation.bleu.Bleu", "x": 1},
    {"type": "experiment.Mine"}, {"": {}},
)  # fmt: skip
"""Values of wrong types, huge numbers, names of other places, and texts that steer something."""


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the path of everything in JSON data, without the data itself."""
    keys = content if isinstance(content, dict) else range(len(content)) if _list(content) else ()
    for key in keys:
        yield (*path, key)
        yield from places(content[key], (*path, key))


def _list(content: Any) -> bool:
    return isinstance(content, list)


def changed(content: Any, draw: np.random.Generator) -> str:
    """Change JSON data at a place that is drawn; returns what was done, in words."""
    path = [*places(content)][draw.integers(len([*places(content)]))]
    for key in path[:-1]:
        content = content[key]
    if draw.random() < 0.2 and isinstance(content, dict):
        del content[path[-1]]
        return f"{path} is missing"
    value = VALUES[draw.integers(len(VALUES))]
    if draw.random() < 0.2 and isinstance(content, dict) and isinstance(value, str):
        content[value] = content.pop(path[-1])
        return f"{path} is called {value[:20]!r}"
    content[path[-1]] = value
    return f"{path} is {str(value)[:30]!r}"


def resealed(path: Path, draw: np.random.Generator) -> str:
    """Change a sealed object at a place that is drawn, with a digest that fits.

    It is that of a file, or of a line that is drawn.
    """
    texts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    number = int(draw.integers(len(texts))) if len(texts) > 1 else 0
    content = json.loads(texts[number])
    content.pop("digest")
    done = changed(content, draw)
    try:
        texts[number] = json.dumps(sealed(finite(content)), ensure_ascii=False)
        path.write_text("\n".join(texts))
    except (UnicodeEncodeError, ValueError):  # half a character, which only a hand can write
        texts[number] = json.dumps(content | {"digest": "0"})
        path.write_text("\n".join(texts))
    return done


def flipped(path: Path, draw: np.random.Generator) -> str:
    """Flip a bit."""
    content = bytearray(path.read_bytes())
    place = int(draw.integers(len(content)))
    content[place] ^= 1 << int(draw.integers(8))
    path.write_bytes(content)
    return f"a bit of byte {place}"


def cut(path: Path, draw: np.random.Generator) -> str:
    """Cut a file short."""
    size = int(draw.integers(path.stat().st_size))
    path.write_bytes(path.read_bytes()[:size])
    return f"cut at {size}"


def linked(path: Path, draw: np.random.Generator) -> str:
    """Put a link in the place of a file."""
    target = ("/etc/passwd", "/", "/dev/zero", ".", "nowhere", path.name)[draw.integers(6)]
    path.unlink()
    path.symlink_to(target)
    return f"a link to {target}"


def special(path: Path, draw: np.random.Generator) -> str:
    """Put a folder, or a pipe that nobody writes to, in the place of a file."""
    path.unlink()
    if draw.random() < 0.5:
        path.mkdir()
        return "a folder"
    os.mkfifo(path)
    return "a pipe"


def foreign(path: Path, draw: np.random.Generator) -> str:
    """Write other content into a file."""
    contents = (b"", b"[" * 100_000, b"[1]", b"{}", b"\xff" * 64, b"null", b"1e999", b'"\\ud800"')
    path.write_bytes(contents[draw.integers(len(contents))])
    return "other content"


def removed(path: Path, draw: np.random.Generator) -> str:
    """Take a file away."""
    del draw
    path.unlink()
    return "nothing"


type Harm = Callable[[Path, np.random.Generator], str]
FILE: tuple[Harm, ...] = (flipped, cut, linked, special, foreign, removed)


def copied(folder: Path, to: Path) -> Path:
    """Copy a folder, in the place of an earlier copy."""
    shutil.rmtree(to, ignore_errors=True)
    return shutil.copytree(folder, to, symlinks=True)


def contents(folder: Path) -> dict[str, bytes | str]:
    """Return everything in a folder: files with their contents, links with their targets."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else _bytes(path)
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
