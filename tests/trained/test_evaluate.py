"""Evaluation and prediction as library calls; the commands are tried in tests/cli."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util

from attnjax.config.override import Override
from attnjax.data.corpora.parallel_text import read_pairs
from attnjax.errors import UserError
from attnjax.lab.cli.main import main, parser
from attnjax.lab.trained.evaluate import evaluate, evaluate_files
from attnjax.lab.trained.open_run import OpenRun
from attnjax.lab.trained.predict import MAX_SYMBOLS
from attnjax.lab.trained.trained_run import Trained, open_trained, with_overrides
from tests.trained.answering import translate

TINY = str(Path(__file__).parents[1] / "tiny.py")


@pytest.fixture(scope="module")
def trained(tiny_runs) -> Trained:
    return open_trained(tiny_runs / "tiny" / "scaled" / "seed-0")


@pytest.mark.long
def test_a_split_and_the_same_sentences_in_files_have_one_score(trained, tmp_path):
    corpus = trained.experiment.task.load()
    source, reference = tmp_path / "source", tmp_path / "reference"
    source.write_text("\n".join(corpus.sources["valid"]))
    reference.write_text("\n".join(corpus.references["valid"]))
    assert len([*read_pairs(source, reference)]) == 8
    on_split = evaluate(trained, split="valid")
    on_files = evaluate_files(trained, source, reference)
    assert (on_split.on, on_files.on) == ("valid", str(source))
    assert on_split.sentences == on_files.sentences == 8
    assert on_split.metrics == on_files.metrics
    assert evaluate(trained, split="valid", beam=1).metrics == on_split.metrics, "it is greedy"


@pytest.mark.long
def test_a_line_has_the_answer_that_it_has_alone_and_an_empty_one_none(trained):
    lines = ["1 2", "", "3", "  "]
    answers = translate(trained, lines)
    assert len(answers) == 4
    assert answers[1] == answers[3] == ""
    assert [answers[0], answers[2]] == [translate(trained, [line])[0] for line in ("1 2", "3")]
    assert translate(trained, []) == []


@pytest.mark.long
def test_a_line_that_is_too_long_is_named(trained):
    with pytest.raises(UserError, match=r"line 3 of the input has 3 symbols \(END counted\)"):
        OpenRun(**vars(trained)).n_best(["1", "", "1 2"], 1, max_symbols=2)
    with pytest.raises(UserError, match="unknown split 'dev'; choose from test, train, valid"):
        evaluate(trained, split="dev")


def test_the_command_has_the_same_limit():
    given = parser()[0].parse_args(["predict", "run"])
    assert given.max_symbols == MAX_SYMBOLS


@pytest.mark.long
def test_heads_are_taken_out_of_a_trained_run(trained, capsys):
    """As if their rows of `out` were 0, with the same parameters."""
    path = "model.decoder_layer.cross_attention.heads_out"
    pruned = with_overrides(trained, [Override(path, "1", choice=False)])
    source, given = jnp.array([[4, 5, 2], [6, 2, 0]]), jnp.array([[1, 5, 4], [1, 7, 2]])

    def logits(run, params):
        variables = {"params": params}
        return run.experiment.model.apply(variables, source, given, deterministic=True)

    keys = "decoder_layers_0", "cross_attention", "out", "kernel"
    flat = traverse_util.flatten_dict(trained.params)
    zeroed = traverse_util.unflatten_dict({**flat, keys: jnp.asarray(flat[keys]).at[1].set(0)})
    found = logits(pruned, trained.params)
    np.testing.assert_allclose(found, logits(trained, zeroed), atol=1e-6)
    assert not np.allclose(found, logits(trained, trained.params), atol=1e-3)
    command = ["evaluate", str(trained.folder), f"--{path}"]
    assert main([*command, "0,1"]) == 0
    assert main([*command, "2"]) == 2
    assert "heads_out (2,): the heads are 0 to 1" in capsys.readouterr().err
    assert main(["evaluate", str(trained.folder), "--model.width", "8"]) == 2
