"""The code that a user's own class is made of: its text, its own modules, packages' versions."""

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from attnjax.config.definitions import used_definitions
from attnjax.config.own_code import (
    FileModule,
    imported_names,
    is_own,
    plain_source,
    source_digest,
)
from attnjax.config.packages import packages_of


def code_of(kind: type) -> Any:
    """Return what a class is computed by, as JSON data; None: it is in no file.

    It is the definitions in its file that it uses, the digests of the modules of one's own that
    these import, and of those that these import, and the versions of packages.
    """
    module = sys.modules.get(kind.__module__)
    if isinstance(module, FileModule):
        text = module.text
    else:
        try:
            text = "".join(inspect.findsource(kind)[0])
        except (OSError, TypeError):
            return None
    used = used_definitions(text, [kind.__name__])
    if kind.__name__ not in used:  # a class within a function
        used = {kind.__qualname__: [plain_source(text)]}
    texts = [piece for pieces in used.values() for piece in pieces]
    known = {**sys.modules, **(module.modules if isinstance(module, FileModule) else {})}
    files = _own_files(texts, getattr(module, "__package__", None) or "", known)
    digests = {name: source_digest(path) for name, path in sorted(files.items())}
    contents = {str(path): path.read_bytes() for path in files.values() if path.is_file()}
    return [used, digests, packages_of(text, [kind.__name__], contents)]


def _own_files(texts: list[str], package: str, known: dict[str, ModuleType]) -> dict[str, Path]:
    """Return the files of the own modules that texts import, and of those that these import."""
    files: dict[str, Path] = {}
    waiting = [(text, package) for text in texts]
    while waiting:
        text, package = waiting.pop()
        for name in imported_names(ast.parse(text), package):
            module = known.get(name)
            if name in files or module is None or not is_own(module):
                continue
            files[name] = Path(module.__file__ or "")
            if files[name].suffix == ".py" and files[name].is_file():
                source = files[name].read_text(encoding="utf-8-sig", errors="replace")
                waiting.append((source, getattr(module, "__package__", None) or ""))
    return files
