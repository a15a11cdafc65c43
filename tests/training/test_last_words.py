"""What JAX says when another process has died becomes one sentence; all else is passed on."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading
from attnjax.training.devices.last_words import LAST_WORDS, replaced_by

def end():
    os.write(2, b"words of C++\\n" + eval(sys.argv[1]))
    os.abort()

os.write(2, b"before\\n")
with replaced_by("another one has ended"):
    print("of Python", file=sys.stderr)
    if sys.argv[2] == "abort":
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
    os.write(2, b"words\\n")
print("after", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "how", "code", "said"),
    [
        ("LAST_WORDS", "abort", 2, "attnjax: another one has ended\n"),
        ("b'a bug'", "abort", -6, "words of C++\na bug"),
        ("b''", "end", 0, "words\nafter\n"),
    ],
)
def test_only_the_end_of_another_process_is_one_sentence(words, how, code, said):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, words, how], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (code, f"before\nof Python\n{said}")
