"""Comparison of the parts that two texts of an experiment file define."""

import ast
from collections.abc import Iterable
from symtable import symtable

from attnjax.experiment.own_modules import plain_source


def changed_definitions(ours: str, theirs: str, names: Iterable[str]) -> list[str]:
    """The names whose definitions differ between two texts of an experiment file.

    The given classes are compared, and everything in the file that they use: base classes,
    functions, constants, imports. Comments, docstrings, layout and the rest of the file (variants,
    claims, the note) are not compared.
    """
    first, second = (_used(text, names) for text in (ours, theirs))
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


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
    symbols = symtable(ast.unparse(statement), "", "exec").get_symbols()
    return [each.get_name() for each in symbols if each.is_assigned() or each.is_imported()]
