"""Docstrings, which the command line shows: read from the source where Python dropped them."""

import ast
import inspect
import sys
from textwrap import dedent
from typing import Any


def docstring(named: Any) -> str:
    """Return the own docstring of a function or class, without indentation; "" if it has none.

    `python -OO` drops all of them.
    """
    if sys.flags.optimize < 2:
        written = vars(named).get("__doc__") if isinstance(named, type) else named.__doc__
        # a dataclass without a docstring is given its signature for one
        generated = (written or "").startswith(f"{named.__name__}(")
        return "" if generated else inspect.cleandoc(written or "")
    (node,) = ast.parse(dedent(inspect.getsource(named))).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef), "it has a name"
    return ast.get_docstring(node) or ""
