"""Records of submitted arrays that somebody else has made."""

import json

import pytest

from attnjax.errors import UserError
from launch.slurm.queue import Submission


@pytest.mark.parametrize(
    "values",
    [
        {"job": "../1"},
        {"job": "1" * 30},
        {"job": "²"},
        {"runs": [["../../outside"]]},
        {"runs": [["/etc"]]},
        {"runs": [["a//b"]]},
        {"runs": [["a\x1b[2J"]]},
    ],
    ids=str,
)
def test_a_record_names_no_place_outside_its_experiment(tmp_path, values):
    content = {"job": "1", "words": ["x"], "runs": [["scaled/seed-0"]], "signature": ""}
    path = tmp_path / "1.json"
    path.write_text(json.dumps(content))
    assert Submission.read(path).runs == (("scaled/seed-0",),)
    path.write_text(json.dumps(content | values))
    with pytest.raises(UserError, match="is damaged, or another version"):
        Submission.read(path)
