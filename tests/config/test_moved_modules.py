"""Modules that have moved are found under their former names, and are the same objects."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from attnjax.config.moved_modules import MOVED

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("former", MOVED)
def test_a_former_name_is_the_module_of_today(former):
    today = importlib.import_module(MOVED[former])
    spec = today.__spec__
    assert importlib.import_module(former) is today
    assert today.__name__ == MOVED[former]
    assert today.__spec__ is spec
    parts = former.removeprefix("attnjax.").replace(".", "/")
    assert not (ROOT / "attnjax" / f"{parts}.py").exists()


def test_what_lies_below_a_moved_folder_moves_with_it():
    from attnjax.results.lines import read_records  # type: ignore[import-not-found]

    from attnjax.lab.results import lines

    assert read_records is lines.read_records


def test_a_name_that_never_was_is_not_found_and_tells_its_own():
    with pytest.raises(ModuleNotFoundError, match=r"attnjax\.attention\.multihea'"):
        importlib.import_module("attnjax.attention.multihea")


def test_the_first_import_of_a_process_may_be_by_a_former_name():
    program = (
        "from attnjax.attention.multihead import MultiHead\n"
        "from attnjax.attention import MultiHead as ours\n"
        "print(MultiHead is ours)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
