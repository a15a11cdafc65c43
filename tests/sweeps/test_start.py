"""What does not fit is refused in one sentence, and a refused start can be mended."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import attnjax
from attnjax.data.vocabularies import Vocabularies, joint, load_vocabularies
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.runs.manifest import manifest
from attnjax.lab.runs.run_folder import claim_folder

TINY = str(Path(__file__).parents[1] / "tiny.py")
ALIGN = "model.decoder_layer.cross_attention.head.align"


@pytest.mark.parametrize(
    "command, expected",
    [
        (
            "nadaraya_watson objective:cross-entropy",
            "CrossEntropy needs a sequence model; got KernelRegression",
        ),
        (
            "luong2015 objective:squared-error",
            "SquaredError needs a model that predicts numbers; got Seq2Seq",
        ),
        (
            "xu2015 model.attention.score:dot",
            "a dot product wants queries and keys of equal width; got 64 and 32",
        ),
        pytest.param(
            "luong2015 model.decoder.attention.align:normalize",
            "the align Normalize wants a score that is a kernel",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(capsys, command, expected):
    assert main(["show", *command.split()]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


@pytest.mark.long
def test_a_refused_start_is_not_in_the_way_of_its_correction(capsys, tmp_path):
    words = ["run", TINY, "--runs", str(tmp_path), "--variant", "scaled", "--seeds", "1"]
    hard = [f"{ALIGN}:hard", "--training.steps", "1"]
    assert main([*words, *hard]) == 2
    assert "choose objective:reinforce, or align:straight-through" in capsys.readouterr().err
    assert main([*words, *hard, f"{ALIGN}:straight-through"]) == 0
    config = tmp_path / "tiny" / "scaled" / "seed-0" / "config.json"
    assert "StraightThrough" in config.read_text()
    summary = json.loads((tmp_path / "tiny" / "summary.json").read_text())
    expected = f"{ALIGN}:straight-through --training.steps 1 --variant scaled --seeds 1"
    assert summary["command"].endswith(expected)
    # what has begun is not run over
    assert main([*words, "--training.steps", "1"]) == 2
    assert "choose another --runs" in capsys.readouterr().err


def test_what_is_written_of_a_run_is_of_this_one(tmp_path):
    loaded = load(Path(TINY))
    wanted = manifest(loaded, "scaled", 0, loaded.settings["scaled"])
    one, other = (SplitWords().learn([text]) for text in ("a b", "c"))
    claim_folder(tmp_path, wanted, loaded, Vocabularies(one, other))
    # that start failed; another vocabulary takes its place, and is the only one there
    claim_folder(tmp_path, wanted, loaded, joint(one))
    assert load_vocabularies(tmp_path / "vocabulary", joint(one).digest) == joint(one)
    # what another process has begun meanwhile is not taken for ours
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(UserError, match="a run of seed 0, not 1: choose another --runs"):
        claim_folder(tmp_path, replace(wanted, seed=1), loaded, joint(one))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.\nMore."),
        MemoryError("Unable to go on allocating 9 bytes."),
    ],
)
def test_too_little_memory(capsys, monkeypatch, error):
    def hungry() -> None:
        raise error

    monkeypatch.setattr("attnjax.lab.cli.commands.experiments.catalog", hungry)
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert "--training.device_tokens" in said
    assert "allocating 9 bytes" in said


WRONG = """
from dataclasses import replace
from attnjax.experiment import Claim, Difference, LengthGain, MetricKey, Value
from tests.tiny import Cosine, ablation as whole

ablation = replace(whole, claims=(Claim(text="It holds.", estimand=ESTIMAND, low=0.0),))
"""


@pytest.mark.parametrize(
    "estimand, problem",
    [
        (
            "Value('exact_mach', 'scaled')",
            "unknown metric of variant scaled: 'exact_mach'; did you mean exact_match?",
        ),
        (
            "Difference('perplexity', 'cosine', 'scaled')",
            "unknown metric of variant scaled: 'perplexity'; choose from alignment_error, "
            "exact_match, jacobian_norm, logit_variance, weight_entropy",
        ),
        (
            "Value(MetricKey('exact_match', part=(1, 4)), 'scaled')",
            "variant scaled measures exact match, but not exact match, part 1 of 4",
        ),
        (
            "Value('weight_entropy', 'scaled')",
            "variant scaled measures weight entropy, initial; weight entropy, trained, "
            "but not weight entropy",
        ),
        (
            "LengthGain('alignment_error', better='cosine', worse='scaled')",
            "unknown metric of variant scaled: 'alignment_error'; choose from exact_match",
        ),
    ],
)
def test_a_claim_about_what_is_not_measured_is_refused_before_training(
    capsys, monkeypatch, tmp_path, estimand, problem
):
    monkeypatch.setattr("attnjax.lab.loop.loop.train", None)  # a training would fail
    path = tmp_path / "wrong.py"
    path.write_text(WRONG.replace("ESTIMAND", estimand))
    assert main(["run", str(path), "--runs", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"the claim 'It holds.' cannot be judged: {problem}\n" in said


@pytest.mark.long
def test_a_claim_whose_metric_an_override_takes_away_is_left_out(capsys, tmp_path):
    words = ["run", TINY, "--runs", str(tmp_path), "--variant", "scaled", "--seeds", "1"]
    assert main([*words, "metric:accuracy", "--training.steps", "1"]) == 0
    assert "metric of scaled was changed" in capsys.readouterr().out


def test_a_quote_in_an_override_is_a_letter_of_its_value():
    with pytest.raises(UserError, match='--task.train: wanted .*; got "it\'s 5"'):
        attnjax.run(TINY, "--task.train it's 5")


def test_the_name_of_an_ablation_leads_into_no_other_folder(tmp_path):
    with pytest.raises(UserError, match="name is that of a file, without .py and without /; got"):
        attnjax.run(attnjax.load(TINY).ablation, name="a/b", runs=tmp_path)
    assert not [*tmp_path.iterdir()]
