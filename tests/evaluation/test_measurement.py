import json
import math

import pytest

from attnjax.config.read_json import read_record
from attnjax.evaluation.measurement import Measurement, MeasurementRecord, MetricKey


@pytest.mark.parametrize(
    "key, words",
    [
        (MetricKey("exact_match"), "exact match"),
        (MetricKey("bleu", part=(4, 4)), "bleu, part 4 of 4"),
        (MetricKey("logit_variance", moment="trained"), "logit variance, trained"),
    ],
)
@pytest.mark.parametrize("better", [None, "lower"])
def test_a_record_is_read_back(key, words, better):
    one = Measurement(key, 0.25, better)
    record = read_record(json.loads(json.dumps(one.record())), MeasurementRecord, "a record")
    assert Measurement.of(record) == one
    assert str(key) == words


def test_a_record_says_only_what_there_is():
    key = MetricKey("bleu", part=(4, 4))
    record = {"name": "bleu", "part": (4, 4), "better": "higher", "value": 27.5}
    assert Measurement(key, 27.5, "higher").record() == record
    assert Measurement(MetricKey("x"), math.inf).record() == {"name": "x", "value": None}
    assert math.isnan(Measurement.of(MeasurementRecord(name="x", value=None)).value)
