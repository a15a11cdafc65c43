import os
import subprocess
import sys

import pytest

from attnjax.lab.cli.large_pages import TUNABLES, is_own_program, with_large_pages

SWITCHED = "glibc.malloc.hugetlb=1"


def test_the_switch_is_added_to_what_is_there():
    assert with_large_pages({"A": "1"}) == {"A": "1", TUNABLES: SWITCHED}
    other = "glibc.malloc.trim_threshold=128"
    assert with_large_pages({TUNABLES: other})[TUNABLES] == f"{other}:{SWITCHED}"


def test_whoever_has_set_it_keeps_it():
    given = {TUNABLES: "glibc.malloc.hugetlb=0"}
    assert with_large_pages(given) == given
    again = with_large_pages({})
    assert with_large_pages(again) == again


@pytest.mark.parametrize(
    ("words", "own"),
    [
        ("-m attnjax run x", True),
        ("-u -W error -X dev -m attnjax list", True),
        ("-I /usr/local/bin/attnjax run x", True),
        ("program.py run attnjax", False),
        ("-m pdb -m attnjax run x", False),
        ("-m coverage run -m attnjax run x", False),
        ("/usr/bin/coverage run -m attnjax", False),
        ("-c pass attnjax", False),
        ("-m ipykernel_launcher -f attnjax", False),
        ("", False),
    ],
)
def test_another_programs_process_is_not_restarted(words, own):
    assert is_own_program(words.split()) is own


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has the switch")
@pytest.mark.parametrize(("name", "switched"), [("attnjax", SWITCHED), ("program.py", None)])
def test_the_program_starts_anew_with_its_arguments(name, switched, tmp_path):
    (tmp_path / name).write_text(
        "import os, sys, attnjax.__main__ as entry, attnjax.lab.cli.main as line\n"
        "line.main = lambda: print(sys.argv[1:], os.environ.get('GLIBC_TUNABLES')) or 3\n"
        "sys.exit(entry.start())"
    )
    bare = {name: value for name, value in os.environ.items() if name != TUNABLES}
    done = subprocess.run(
        [sys.executable, tmp_path / name, "list", "a b"], env=bare, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (3, f"['list', 'a b'] {switched}\n"), done.stderr
