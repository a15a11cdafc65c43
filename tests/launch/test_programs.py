"""Engines' programs: found, called, and quoted when they refuse."""

import pytest

from attnjax.errors import UserError
from launch.programs import SKY, SLURM, call, need


@pytest.mark.parametrize(
    "program, hint", [("sbatch", SLURM), ("squeue", SLURM), ("scancel", SLURM), ("sky", SKY)]
)
def test_a_missing_program_is_named_with_where_to_get_it(nothing_installed, program, hint):
    with pytest.raises(UserError) as caught:
        need(program)
    assert str(caught.value) == f"the program {program} is not on this machine: {hint}"


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
