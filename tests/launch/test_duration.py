"""Durations in SLURM's form."""

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from attnjax.errors import UserError
from launch.duration import seconds


@given(integers(0, 40), integers(0, 23), integers(0, 59), integers(1, 59))
def test_a_duration_is_read_as_it_is_written(days, hours, minutes, rest):
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    assert seconds(f"{days}-{hours:02}:{minutes:02}:{rest:02}") == total
    assert seconds(f"{days * 24 + hours}:{minutes:02}:{rest:02}") == total


@pytest.mark.parametrize("written", ["8", "8h", "1:60:00", "00:00:00", "-1:00:00", "1-1", ""])
def test_another_form_is_refused_with_the_right_one(written):
    with pytest.raises(UserError, match="wanted HH:MM:SS or D-HH:MM:SS"):
        seconds(written)
