from typing import ClassVar

import pytest

from attnjax.errors import UserError
from attnjax.evaluation import Measure, Measurement
from attnjax.experiment import MetricKey


def test_a_measure_says_its_numbers_in_their_order():
    class Two(Measure):
        numbers: ClassVar = {"first": "higher", "second": None}

    first, second = MetricKey("first"), MetricKey("second")
    assert Two().keys(None) == (first, second)
    assert Two().measured(1, 2) == [Measurement(first, 1.0, "higher"), Measurement(second, 2.0)]


def test_a_measure_without_numbers_is_refused_before_anything_is_trained():
    with pytest.raises(UserError, match="Silent names no number: wanted numbers"):

        class Silent(Measure):
            pass


def test_the_shares_of_a_measure_are_among_its_numbers():
    for wrong in (frozenset({"accurcy"}), "accuracy"):
        with pytest.raises(UserError, match="of the measure Wrong must be among its numbers, acc"):
            type("Wrong", (Measure,), {"numbers": {"accuracy": "higher"}, "shares": wrong})


def test_a_measure_may_give_keys_in_place_of_numbers():
    class Parts(Measure):
        def keys(self, metric):
            return [MetricKey("x", part=(1, 2))]

    class Deeper(Parts):
        pass

    assert Deeper().keys(None) == [MetricKey("x", part=(1, 2))]
