"""Several runs as one: the mean of their probabilities, over models that need not be alike."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.position import Learned
from attnjax.config.override import split
from attnjax.config.vary import vary
from attnjax.data.vocabularies import joint
from attnjax.data.vocabulary import WordVocabulary
from attnjax.decoding.sample import Sample
from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.trained.evaluate import evaluate
from attnjax.lab.trained.trained_run import Trained, ensemble, open_trained, with_overrides
from attnjax.models.ensemble import Ensemble
from tests.trained.answering import translate

pytestmark = pytest.mark.long

LINES = ["1 2", "3", "2 2 1"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Trained]:
    """Return two seeds of one model, and one with another score, trained on the same data."""
    folder = tmp_path_factory.mktemp("runs")
    file = Path(__file__).parents[1] / "tiny.py"
    assert main(["run", str(file), "--runs", str(folder), "--task.seed", "0"]) == 0
    places = ["scaled/seed-0", "scaled/seed-1", "cosine/seed-0"]
    return [open_trained(folder / "tiny" / place) for place in places]


def logits(run: Trained, source, given) -> Any:
    return run.experiment.model.apply({"params": run.params}, source, given, deterministic=True)


def test_the_probability_is_the_mean_of_the_members(runs):
    source, given = jnp.array([[4, 5, 2], [6, 2, 0]]), jnp.array([[1, 5, 4], [1, 7, 2]])
    wanted = np.mean([jax.nn.softmax(logits(run, source, given)) for run in runs], axis=0)
    found = jax.nn.softmax(logits(ensemble(runs), source, given))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_one_is_itself_and_equal_ones_are_each(runs):
    assert ensemble(runs[:1]) is runs[0]
    alone, twice = (evaluate(run) for run in (runs[0], ensemble([runs[0], runs[0]])))
    assert twice == alone
    for beam in (1, 3):
        both = translate(ensemble([runs[0]] * 2), LINES, beam=beam)
        assert both == translate(runs[0], LINES, beam=beam)


def test_it_is_searched_as_the_parallel_call_says(runs):
    """Of models that differ, so that caches of different forms are stepped together."""
    one = ensemble([runs[0], runs[2]])
    vocabulary = one.text("target")
    for line, answer in zip(LINES, translate(one, LINES), strict=True):
        source = jnp.array([one.experiment.task.ids(line, vocabulary)])
        words = vocabulary.encode(answer)
        given = jnp.array([[1, *words]])
        best = np.asarray(logits(one, source, given))[0, :, 2:].argmax(-1) + 2
        # an answer of the greatest length is ended by its limit
        assert best[: len(words)].tolist() == words


def test_a_command_joins_runs_and_changes_the_search(runs, capsys):
    folders = [str(run.folder) for run in runs[:2]]
    assert (
        main(["evaluate", *folders, "--split", "valid", "search:sample", "--search.seed", "3"]) == 0
    )
    said = capsys.readouterr().out
    drawn = with_overrides(ensemble(runs[:2]), split(["search:sample", "--search.seed", "3"])[1])
    assert drawn.experiment.search == Sample(seed=3)
    value = evaluate(drawn, split="valid").metrics["exact_match"]
    assert f"exact_match: {value:g}" in said
    with pytest.raises(UserError, match="seed"):
        with_overrides(runs[0], split(["--search.seed", "3"])[1])


def test_runs_that_do_not_fit_are_refused(runs):
    one, other = runs[:2]
    vocabularies = joint(WordVocabulary((*one.text("source").pieces[:-1], "7")))
    with pytest.raises(UserError, match="must have the same vocabularies; those of .* differ"):
        ensemble([one, dataclasses.replace(other, vocabularies=vocabularies)])
    experiment = vary(other.experiment, {"task.symbols": 9})
    with pytest.raises(UserError, match="must have one task; task.symbols is 6 in .* and 9 in"):
        ensemble([one, dataclasses.replace(other, experiment=experiment)])


def test_its_limit_is_the_smallest_of_its_members(runs):
    model = runs[0].experiment.model
    members = tuple(model.clone(position=Learned(max_length=n)) for n in (9, 5))
    limits = Ensemble(members=(model, *members)).max_length("target")
    assert limits is not None
    assert limits.words == 5
    assert Ensemble(members=(model, *members)).max_words(3) == 5
    assert Ensemble(members=(model, model)).max_words(3) is None
