"""What a class of one's own is computed by: after a change, its corpora are prepared anew."""

import importlib
import sys

import pytest

from attnjax.config.class_code import code_of

FILES = {
    "of_a_test.py": """
from dataclasses import dataclass
import a_helper
SIZE, UNUSED = 3, 4
def norm(text):
    return text[:SIZE]
class Base:
    def words(self, text):
        return a_helper.split(norm(text))
class Mine(Base):
    pass
""",
    "a_helper.py": """
from a_helper_of_it import SEPARATOR
def split(text):
    return text.split(SEPARATOR)
""",
    "a_helper_of_it.py": "SEPARATOR = ' '  # a space\n",
}


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Return what a class is computed by, after a text in a file was replaced by another."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def changed(file: str, before: str, after: str) -> object:
        for name, text in FILES.items():
            new = text.replace(before, after) if name == file else text
            (tmp_path / name).write_text(new)
            sys.modules.pop(name.removesuffix(".py"), None)
        importlib.invalidate_caches()
        return code_of(importlib.import_module("of_a_test").Mine)

    yield changed
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_all_that_a_class_uses_is_its_code(code):
    as_it_was = code("of_a_test.py", "", "")
    for change in (
        ("of_a_test.py", "SIZE, UNUSED = 3", "SIZE, UNUSED = 2"),
        ("of_a_test.py", "text[:SIZE]", "text[SIZE:]"),
        ("of_a_test.py", "(norm(text))", "(text)"),
        ("a_helper.py", "text.split", "text.rsplit"),
        ("a_helper_of_it.py", "' '", "'_'"),
    ):
        assert code(*change) != as_it_was, change
    for change in (
        ("of_a_test.py", "import a_helper\n", "import a_helper\nMORE = 5\n"),
        ("a_helper.py", "def split(text):", "def split(text):\n    '''Split.'''"),
        ("a_helper_of_it.py", "# a space", "# one"),
    ):
        assert code(*change) == as_it_was, change


def test_a_class_that_stands_in_no_file_has_no_code():
    namespace = {"__name__": "typed"}
    exec("class Typed: pass", namespace)
    assert code_of(namespace["Typed"]) is None  # type: ignore[arg-type]
