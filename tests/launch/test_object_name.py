"""Names that Google Cloud and Kubernetes take."""

import re

from hypothesis import given
from hypothesis.strategies import text

from launch.object_name import object_name


@given(text(min_size=1), text())
def test_a_name_is_of_small_letters_digits_and_hyphens(one, other):
    name = object_name("a", one, other)
    assert re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)
    # the longest name that is made of it: that of a pod, with the letters that a Job adds
    assert len(f"{name}-run-0-999") <= 63


def test_the_names_of_long_runs_differ():
    names = {object_name("e" * 60, f"variant/seed-{seed}") for seed in range(9)}
    assert len(names) == 9
