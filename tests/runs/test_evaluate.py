"""Evaluation and prediction as library calls; the commands are tried in tests/cli."""

from pathlib import Path

import pytest

from attnjax.cli.main import main, parser
from attnjax.data.corpora.parallel_text import read_pairs
from attnjax.errors import UserError
from attnjax.runs.evaluate import MAX_SYMBOLS, evaluate, evaluate_files, predict
from attnjax.runs.trained import Trained, open_trained

TINY = str(Path(__file__).parents[1] / "tiny.py")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Trained:
    folder = tmp_path_factory.mktemp("runs")
    assert main(["run", TINY, "--variant", "scaled", "--seeds", "1", "--runs", str(folder)]) == 0
    return open_trained(folder / "tiny" / "scaled" / "seed-0")


def test_a_split_and_the_same_sentences_in_files_have_one_score(trained, tmp_path):
    corpus = trained.experiment.task.load()
    source, reference = tmp_path / "source", tmp_path / "reference"
    source.write_text("\n".join(corpus.sources["valid"]))
    reference.write_text("\n".join(corpus.references["valid"]))
    assert len(read_pairs(source, reference)) == 8
    on_split = evaluate(trained, split="valid")
    on_files = evaluate_files(trained, source, reference)
    assert (on_split.on, on_files.on) == ("valid", str(source))
    assert on_split.sentences == on_files.sentences == 8
    assert on_split.metrics == on_files.metrics
    assert evaluate(trained, split="valid", beam=1).metrics == on_split.metrics, "it is greedy"


def test_a_line_has_the_answer_that_it_has_alone_and_an_empty_one_none(trained):
    lines = ["1 2", "", "3", "  "]
    answers = predict(trained, lines)
    assert len(answers) == 4
    assert answers[1] == answers[3] == ""
    assert [answers[0], answers[2]] == [predict(trained, [line])[0] for line in ("1 2", "3")]
    assert predict(trained, []) == []


def test_a_line_that_is_too_long_is_named(trained):
    with pytest.raises(UserError, match=r"line 3 of the input has 3 symbols \(END counted\)"):
        predict(trained, ["1", "", "1 2"], max_symbols=2)
    with pytest.raises(UserError, match="unknown split 'dev'; choose from test, train, valid"):
        evaluate(trained, split="dev")


def test_the_command_has_the_same_limit():
    given = parser()[0].parse_args(["predict", "run"])
    assert given.max_symbols == MAX_SYMBOLS
