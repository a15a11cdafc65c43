"""Records of submitted arrays, and SLURM's programs: called, and quoted when they refuse."""

import json

import pytest

from attnjax.errors import UserError
from launch.slurm.queue import Submission, call, need


def test_a_missing_program_is_named_with_where_it_is(nothing_installed):
    with pytest.raises(UserError) as caught:
        need("squeue")
    assert str(caught.value) == (
        "the program squeue is not on this machine: run this on one that submits to SLURM, such as "
        "a cluster's login node"
    )


def test_words_and_standard_input_arrive_as_they_are(recorder):
    recorder.stand_in("sbatch")
    recorder.answer("sbatch", out="12\n")
    assert call(["sbatch", "a b", "$c", ""], text="#!/bin/bash\n") == "12\n"
    assert recorder.calls[0].words == ["sbatch", "a b", "$c", ""]
    assert recorder.calls[0].text == "#!/bin/bash\n"


def test_a_refusal_is_passed_on_in_the_programs_words(recorder):
    recorder.stand_in("sbatch")
    error = "sbatch: error: invalid partition specified: gpus\nsbatch: error: Batch job failed\n"
    recorder.answer("sbatch", error=error, code=1)
    with pytest.raises(UserError) as caught:
        call(["sbatch"])
    assert str(caught.value) == (
        "sbatch refuses: sbatch: error: invalid partition specified: gpus; "
        "sbatch: error: Batch job failed"
    )


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
    content = {"job": "1", "runs": [["scaled/seed-0"]]}
    path = tmp_path / "1.json"
    path.write_text(json.dumps(content))
    assert Submission.read(path).runs == (("scaled/seed-0",),)
    path.write_text(json.dumps(content | values))
    with pytest.raises(UserError, match="is damaged, or another version"):
        Submission.read(path)
