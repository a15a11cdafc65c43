"""SIGKILL at random moments, also inside a save: trainings come out to the same bits."""

import pytest

from tests.training.killing import survived

pytestmark = pytest.mark.long


def test_a_few_kills_change_no_bit(tmp_path, record_property):
    record_property("shown", survived(tmp_path, 2, [(0,), (3, 4)]))


def test_a_hundred_kills_change_no_bit(tmp_path, record_property):
    record_property("shown", survived(tmp_path, 100, [(0,), (1, 2), (3, 4, 5)]))
