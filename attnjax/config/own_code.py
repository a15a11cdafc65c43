"""Which Python modules are a user's own, and what their code is without comments and layout."""

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType


class FileModule(ModuleType):
    """The module of an executed experiment file.

    Attributes:
        text: the file's text as it was executed.
        modules: the modules of one's own that it has imported.
    """

    def __init__(self, name: str, text: str) -> None:
        """Make an empty module of a text."""
        super().__init__(name)
        self.text = text
        self.modules: dict[str, ModuleType] = {}


def is_own(module: ModuleType | None) -> bool:
    """Return whether an imported module is a user's own: of neither Python, attnjax nor a library.

    The module of an experiment file is not: its text is compared by itself.
    """
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    if not places or isinstance(module, FileModule) or getattr(module, "__name__", "") in SPECIAL:
        return False
    return all(map(is_own_file, places))


SPECIAL = {"__main__", "__mp_main__"}
"""The program that runs: no file imports it as a module of its own."""


def is_own_file(path: str) -> bool:
    """Return whether a file is of neither Python, attnjax nor a library."""
    return not any(map(Path(path).resolve().is_relative_to, _foreign(tuple(sys.path))))


@cache
def _foreign(python_path: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the folders of Python, of its libraries, and of attnjax."""
    paths = sysconfig.get_paths()
    places = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [
        path for path in python_path if Path(path).name in ("site-packages", "dist-packages")
    ]
    return (*{Path(place).resolve() for place in places}, Path(__file__).resolve().parents[1])


def source_digest(path: Path) -> str:
    """Return the digest of a file; comments, docstrings and layout of Python do not count.

    A file that is gone has the digest "".
    """
    try:
        content = path.read_bytes()
    except OSError:
        return ""
    if path.suffix == ".py":
        content = plain_source(content.decode("utf-8-sig", "replace")).encode()
    return hashlib.sha256(content).hexdigest()


def plain_source(text: str) -> str:
    """Strip comments, docstrings and layout of a Python text."""
    try:
        tree = ast.parse(ast.unparse(ast.parse(text)))
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                vars(node)["body"] = rest or [ast.Pass()]
    return ast.unparse(tree)


def imported_names(tree: ast.AST, package: str = "") -> Iterator[str]:
    """Yield the names of the modules that a piece of Python may import, wherever it does so.

    Of `from a import b`, b may be a module, too. `package` is the one that relative names are of.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom() if not node.level or package:
                within = resolve_name("." * node.level + (node.module or ""), package)
                yield within
                yield from (f"{within}.{alias.name}" for alias in node.names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_], func=called):
                if ast.unparse(called).split(".")[-1] in ("__import__", "import_module"):
                    yield name


def late_imports(text: str, package: str = "") -> set[str]:
    """Return the names of the modules that the functions of a Python text import when called."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return {
        name
        for node in ast.walk(tree)
        if isinstance(node, functions)
        for name in imported_names(node, package)
        if not name.startswith(".")
    }
