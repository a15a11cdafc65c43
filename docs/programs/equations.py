"""Prints docs/equations.md: what attnjax computes, as the docstrings of its public names say it.

python docs/programs/equations.py > docs/equations.md
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("attention", "models", "nn", "training", "decoding", "evaluation", "experiment")
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Source):", re.MULTILINE)
HEAD = """\
# Equations and sources

Every entry is the docstring of a public function or class: what it computes, its equation, its
source. `make docs` writes this page, and a test compares it with the code.
[attnjax](../attnjax/__init__.py) explains the letters of shapes: B examples, T queries, S keys.

- Each score, align, mask, cell, decoder and layer has a test against an independent NumPy
  implementation in float64, values and gradients.
- A query that may attend to nothing has zero weights, a zero context and zero gradients, in every
  variant; in float16 the slope of a `context_norm` at such a row may be infinite, and its gradients
  NaN. If an output projection has a bias, an empty row gives that bias.
- One step at a time equals the parallel call at every position, in recurrent models and the
  Transformer.
- The Transformer's base model has 63,045,632 parameters with 37,000 tied rows, the big one
  214,171,648.

[What combines with what](combinations.md) has the tables of parts that fit each other."""


class Entry(NamedTuple):
    """A public function or class, and its docstring.

    Attributes:
        name: of the function or class.
        text: its docstring.
        parts: the classes that offer it as a part, and name no source themselves.
    """

    name: str
    text: str
    parts: list[str]

    def markdown(self) -> str:
        """Return the entry as a section of the page."""
        parts = ", ".join(f"`{part}`" for part in self.parts)
        return "\n\n".join(
            [
                f"### {self.name}",
                first_line(self.text),
                *equations(self.text),
                *([f"Part: {parts}."] if parts else []),
                *source(self.text),
            ]
        )


def first_line(text: str) -> str:
    """Return the first line of a docstring."""
    return text.partition("\n")[0]


def equations(text: str) -> list[str]:
    """Return the indented blocks before the sections of a docstring."""
    match = SECTION.search(text)
    paragraphs = text[: match.start() if match else None].split("\n\n")
    return [block.rstrip() for block in paragraphs[1:] if block.startswith("    ")]


def source(text: str) -> list[str]:
    """Return the paragraph of a docstring that names its source, in a list; [] if none does."""
    match = re.search(r"^Source: .*?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return [" ".join(match[0].split())] if match else []


def is_cited(text: str) -> bool:
    """Return whether a docstring names a source, in a paragraph or by a year in its first line."""
    return bool(source(text) or re.search(r"\b(19|20)\d\d\b", first_line(text)))


def entries(tree: ast.Module) -> Iterator[Entry]:
    """Yield the public functions and classes of a module that name a source."""
    texts = {
        node.name: ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    for name, text in texts.items():
        if is_cited(text):
            offered = re.compile(rf".*`{name}`")
            parts = (part for part in texts if part[0].isupper() and not is_cited(texts[part]))
            yield Entry(name, text, [part for part in parts if offered.match(texts[part])])


def page() -> str:
    """Return the text of docs/equations.md."""
    blocks = [HEAD]
    for room in ROOMS:
        for path in sorted((ROOT / "attnjax" / room).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            text, cited = ast.get_docstring(tree) or "", list(entries(tree))
            if cited or source(text):
                name = path.relative_to(ROOT).as_posix()
                blocks += [f"## {name}", f"[{first_line(text)}](../{name})", *source(text)]
                blocks += [entry.markdown() for entry in cited]
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    print(page(), end="")
