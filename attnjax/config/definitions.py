"""What classes of a Python text are made of: the statements of the text that they depend on."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from symtable import symtable

from attnjax.config.own_code import plain_source

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WHEN_CALLED = ("__new__", "__init__", "__post_init__", "__call__")
EVERYTHING = "*"
"""Stands for every name of a module, where a statement may change any of them."""

BUILTINS = {*vars(builtins)}
MUTATORS = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "register"),
    *("remove", "reverse", "setdefault", "sort", "update", "setattr", "delattr"),
    *("difference_update", "intersection_update", "symmetric_difference_update"),
    *("__setattr__", "__setitem__", "__delitem__"),
}
"""The names of functions and methods that change what they are called of."""


def used_definitions(text: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the definitions of the names, and of all names that they use.

    What a later statement changes counts, too: CONFIG["scale"] = 2 is a part of the definition of
    CONFIG, and a function is a part of that of the table which its decorator puts it into.
    Comments, docstrings and layout are left out.
    """
    definitions = definitions_of(text)
    used: dict[str, list[str]] = {}
    waiting = list(names)
    if EVERYTHING in definitions:
        waiting.append(EVERYTHING)
    while waiting:
        name = waiting.pop()
        if name in used or name not in definitions:
            continue
        used[name] = [plain_source(ast.unparse(statement)) for statement in definitions[name]]
        for statement in definitions[name]:
            waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return used


def definitions_of(text: str) -> dict[str, list[ast.stmt]]:
    """Return the statements of a module that define or change each of its names."""
    body = ast.parse(text).body
    changes = _Changes.of(body)
    definitions: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in dict.fromkeys([*_defined(statement), *sorted(changes.by(statement))]):
            definitions.setdefault(name, []).append(statement)
    return definitions


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines."""
    symbols = symtable(ast.unparse(statement), "", "exec").get_symbols()
    return [symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()]


@dataclass(frozen=True)
class _Changes:
    """Finds which names of a module its statements change, apart from defining them.

    Attributes:
        callables: the functions and classes of the module, by name.
        aliases: other names that the value of a name may have, or be a part of.
        imported: names that are imported; what they decorate changes nothing of theirs.
    """

    callables: dict[str, ast.AST] = field(default_factory=dict)
    aliases: dict[str, set[str]] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, body: Iterable[ast.stmt]) -> "_Changes":
        found = cls()
        for node in (node for statement in body for node in _executed(statement)):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found.callables[node.name] = node
                case ast.Assign(targets=targets, value=value):
                    found._alias(targets, _roots(value))
                case (
                    ast.For(target=target, iter=value)
                    | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
                ):
                    found._alias([target], _names(value))
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    found.imported.update(
                        alias.asname or alias.name.partition(".")[0] for alias in names
                    )
        return found

    def _alias(self, targets: Iterable[ast.expr], values: set[str]) -> None:
        for target in targets:
            for name in _names(target) if isinstance(target, ast.Name | ast.Tuple) else ():
                self.aliases.setdefault(name, set()).update(values)

    def by(self, statement: ast.stmt) -> set[str]:
        """Return the names whose values a statement of the module changes when it is executed."""
        changed = {name for node in _executed(statement) for name in self._changed(node)}
        waiting = list(changed)
        while waiting:
            more = self.aliases.get(waiting.pop(), set()) - changed
            changed |= more
            waiting += more
        whole = {"globals", "locals", "exec", "__name__"}
        return {EVERYTHING if name in whole else name for name in changed} - BUILTINS

    def _changed(self, node: ast.AST) -> set[str]:
        """Return the names that one executed piece of a statement changes."""
        changed = _stored(node)
        match node:
            case ast.Expr(value=ast.Call() | ast.Await()):
                # it is there for what it does, though making an object does nothing to its class
                called = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
                made = {func.id for func in called if isinstance(func, ast.Name)}
                changed |= _names(node) - {
                    name for name in made if isinstance(self.callables.get(name), ast.ClassDef)
                }
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                for decorator in node.decorator_list:
                    called = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if isinstance(called, ast.Attribute):
                        changed |= _roots(called) - self.imported
                    changed |= self._effects(called, {node.name})
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                changed |= self._of_subclass(base)
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            changed |= self._effects(node.func, {name for one in given for name in _roots(one)})
        return changed

    def _of_subclass(self, base: ast.expr) -> set[str]:
        """Return the names that a class changes by being derived."""
        kind = self.callables.get(base.id) if isinstance(base, ast.Name) else None
        methods = [
            method
            for method in getattr(kind, "body", ())
            if isinstance(method, FUNCTIONS) and method.name == "__init_subclass__"
        ]
        return {name for method in methods for name in self._inside(method, set())[0]}

    def _effects(self, called: ast.expr, given: set[str]) -> set[str]:
        """Return the names that a call changes: globals, and what is given if a parameter is."""
        found = self.callables.get(called.id) if isinstance(called, ast.Name) else None
        functions = [found] if isinstance(found, FUNCTIONS) else []
        if isinstance(found, ast.ClassDef):  # making an object, or decorating by one
            functions = [
                method
                for method in found.body
                if isinstance(method, FUNCTIONS) and method.name in WHEN_CALLED
            ]
        changed, parameters = set[str](), False
        for function in functions:
            more, theirs = self._inside(function, set())
            changed |= more
            parameters |= theirs
        return changed | (given if parameters else set())

    def _inside(self, function: ast.AST, seen: set[int]) -> tuple[set[str], bool]:
        """Return the globals that a function of the module changes, and whether it does its own."""
        if id(function) in seen:
            return set(), False
        seen.add(id(function))
        nodes = [*ast.walk(function)]
        declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
        stored = [node for node in nodes if isinstance(node, ast.Name) and _is_stored(node)]
        local = parameters | ({node.id for node in stored} - declared)
        changed = {name for node in nodes for name in _stored(node)} | declared
        of_parameters = not changed.isdisjoint(parameters - {"self"})
        for node in nodes:
            called = node.func if isinstance(node, ast.Call) else None
            inner = self.callables.get(called.id) if isinstance(called, ast.Name) else None
            if isinstance(inner, FUNCTIONS):
                more, theirs = self._inside(inner, seen)
                changed |= more - local
                of_parameters |= theirs
        return changed - local, of_parameters


def _executed(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the pieces of a statement that are executed with the module, no function's body."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and "__name__" in _names(node.test):
            continue  # what only a program does
        within = {id(part) for part in node.body} if isinstance(node, FUNCTIONS) else set()
        if isinstance(node, ast.Lambda):
            within = {id(node.body)}
        waiting += [part for part in ast.iter_child_nodes(node) if id(part) not in within]


def _is_stored(node: ast.AST) -> bool:
    """Return whether a piece of Python stands where something is assigned or deleted."""
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def _stored(node: ast.AST) -> set[str]:
    """Return the names whose values a piece of Python changes: {"a"} of `a.b = 1`, `a.sort()`."""
    match node:
        case ast.Subscript() | ast.Attribute() if _is_stored(node):
            return _roots(node)
        case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in MUTATORS:
            return _roots(value) | ({*_names(node)} if attr.startswith("__") else set())
        case ast.Call(func=ast.Name(id=name), args=[value, *_]) if name in MUTATORS:
            return _roots(value)
        case ast.Call(func=ast.Name(id="exec")):
            return {"exec"}
    return set()


def _roots(node: ast.AST) -> set[str]:
    """Return the names by which an expression is reached: {"a"} of `a.b[0]`, `vars(a)["b"]`."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Subscript(value=value, slice=ast.Name(id="__name__")):
            return {*_roots(value), "__name__"}
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
            return _roots(value)
        case ast.Call(func=ast.Name(id="vars" | "globals" | "locals"), args=[]):
            return {"globals"}
        case ast.Call(func=ast.Name(), args=args):
            return {root for value in args for root in _roots(value)}
        case ast.Call(func=func):
            return _roots(func)
    return set()


def _names(node: ast.AST) -> set[str]:
    """Return all names in a piece of Python."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
