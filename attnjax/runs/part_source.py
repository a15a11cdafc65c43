"""Comparison of the parts that two texts of an experiment file define."""

import ast
from collections.abc import Iterable

from attnjax.experiment.own_modules import plain_source


def changed_definitions(one: str, other: str, names: Iterable[str]) -> list[str]:
    """The names whose definitions differ between two texts of an experiment file.

    The given classes are compared, and everything in the file that they use: base classes,
    functions, constants, imports. Comments, docstrings, layout and the rest of the file (variants,
    claims, the note) are not compared.

    Args:
        one: a Python text.
        other: another Python text.
        names: the names of the classes.
    """
    ours, theirs = (_used(text, names) for text in (one, other))
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def _used(text: str, names: Iterable[str]) -> dict[str, list[str]]:
    """The definitions of the names and of all names that they use."""
    definitions: dict[str, list[ast.stmt]] = {}
    for statement in ast.parse(text).body:
        for name in _defined(statement):
            definitions.setdefault(name, []).append(statement)
    used: dict[str, list[str]] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in used or name not in definitions:
            continue
        used[name] = [plain_source(ast.unparse(statement)) for statement in definitions[name]]
        for statement in definitions[name]:
            waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return used


def _defined(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [statement.name]
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, ast.alias):
            found.append((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append(node.name)
    return found
