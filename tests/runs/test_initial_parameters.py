"""Pre-training, then fine-tuning: what a run takes from another, and what is refused."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flax import traverse_util
from rich.console import Console

from attnjax.config.vary import vary
from attnjax.data.vocabularies import SavedVocabulary
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.experiment.load import load
from attnjax.lab.checkpoints.checkpoint import average
from attnjax.lab.loop.run_state import Run
from attnjax.lab.runs.initial_parameters import (
    check_initial_parameters,
    source_of,
    with_initial_parameters,
)
from attnjax.lab.runs.result import read_result
from attnjax.lab.sweeps.dry_run import dry_run
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.sweep import sweep
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.training.train_setup import TrainSetup

pytestmark = pytest.mark.long

FILE = '''"""Does it help to have read before?"""

from attnjax.data import Batching, LabeledFile, LearnedFrom, Unlabeled
from attnjax.decoding import Label
from attnjax.evaluation import MaskedWords
from attnjax.experiment import Ablation, Experiment, vary
from attnjax.models import BertClassifier, BertEncoder, BertPretraining, bert_layer
from attnjax.training import MaskedLanguageModel, Training

bert = BertEncoder(width=4, num_layers=1, layer=bert_layer(heads=1, width=4))
plain = LabeledFile(folder={folder!r}, train="reviews.csv[:40]", test="reviews.csv[40:]", valid=4)
words = LearnedFrom(tasks=(plain,))
batching = Batching(max_tokens=200, shapes=1, batch_size_multiple=1)
scratch = Experiment(
    task=vary(plain, {{"vocabulary": words}}),
    model=BertClassifier(bert=bert),
    search=Label(),
    training=Training(steps=2, batching=batching),
)
pretraining = vary(
    scratch,
    {{
        "task": Unlabeled(tasks=(plain,), valid=4, test=4, vocabulary=words),
        "model": BertPretraining(bert=bert),
        "objective": MaskedLanguageModel(),
        "measures": (MaskedWords(),),
    }},
)
ablation = Ablation(
    base=scratch,
    variants={{
        "pretraining": pretraining,
        "fine_tuned": vary(scratch, {{"initial_parameters_from": "read/pretraining"}}),
    }},
)
'''


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of the runs of the file above, and what was printed."""
    folder = tmp_path_factory.mktemp("read")
    rows = "".join(f"w{n % 7} is w{n % 5},{'good' if n % 2 else 'bad'}\n" for n in range(50))
    (folder / "reviews.csv").write_text("text,label\n" + rows, encoding="utf-8")
    path = folder / "read.py"
    path.write_text(FILE.format(folder=str(folder)), encoding="utf-8")
    console = Console(width=10_000, record=True, file=io.StringIO())
    request = Request(
        loaded=load(path), variants=(), seeds=None, folder=folder / "runs" / "read", overrides=()
    )
    sweep(request, console)
    return folder / "runs", console.export_text()


def content(path: Path):
    return json.loads(path.read_text())


def fine_tuned(runs: Path):
    return load(runs.parent / "read.py").ablation.variants["fine_tuned"]


def flat(params):
    return traverse_util.flatten_dict(params, sep=".")


def begun(experiment, runs: Path, folder: Path):
    """Return the setup of a run in a folder, and what is said of it."""
    corpus = experiment.task.load()
    resolved = experiment.resolve(corpus)
    setup = TrainSetup.of(resolved.recipe, corpus)
    folder.mkdir(exist_ok=True)
    run = Run(folder=folder, seed=0)
    return with_initial_parameters(setup, resolved, corpus.vocabularies, [run], runs)


def test_a_run_takes_what_fits_and_draws_the_rest(trained, tmp_path):
    runs, printed = trained
    source = runs / "read" / "pretraining" / "seed-0"
    theirs = flat(average(source, 1))
    setup, said = begun(fine_tuned(runs), runs, tmp_path)
    found = flat(setup.initial_state(0).params)
    drawn = flat(replace(setup, initial={}).initial_state(0).params)
    assert found.keys() == drawn.keys()
    encoder = {name for name in found if name.startswith("encoder.")}
    for name, value in found.items():
        expected = theirs if name in encoder else drawn
        np.testing.assert_array_equal(value, expected[name])
    record = content(tmp_path / "initial_parameters.json")
    assert set(record["taken"]) == encoder
    assert set(record["drawn"]) == {"label.bias", "label.kernel", "pooler.bias", "pooler.kernel"}
    assert said == (
        f"begins with {len(encoder)} of {len(found)} parameters from {source}; drawn: label.bias, "
        "label.kernel, pooler.bias, pooler.kernel"
    )
    assert f"fine_tuned: {said}" in printed
    result = content(runs / "read" / "fine_tuned" / "seed-0" / "result.json")
    assert "initial_parameters.json" in result["files"]
    kept = content(runs / "read" / "fine_tuned" / "seed-0" / "initial_parameters.json")
    assert (kept["run"], kept["parameters"]) == (str(source), record["parameters"])


def test_a_folder_of_a_variant_stands_for_the_run_of_the_same_seed(trained, tmp_path):
    runs, _ = trained
    experiment = fine_tuned(runs)
    variant = runs / "read" / "pretraining"
    assert source_of(experiment, 3, runs) == variant / "seed-3"
    one = vary(experiment, {"initial_parameters_from": "read/pretraining/seed-0"})
    assert source_of(one, 3, runs) == variant / "seed-0"
    absolute = vary(experiment, {"initial_parameters_from": str(variant)})
    assert source_of(absolute, 0, tmp_path) == variant / "seed-0"


def test_what_does_not_fit_is_refused(trained, tmp_path):
    runs, _ = trained
    experiment, source = fine_tuned(runs), runs / "read" / "pretraining" / "seed-0"
    vocabularies = experiment.task.load().vocabularies

    def check(changes, seeds=(0,), coming=()):
        changed = vary(experiment, changes)
        found = changed.task.load().vocabularies
        check_initial_parameters(changed, found, seeds, runs, coming)

    check({})
    check({"initial_parameters_from": None}, seeds=(9,))
    check({}, seeds=(9,), coming={runs / "read" / "pretraining" / "seed-9"})
    with pytest.raises(UserError, match=r"seed-9 must be a trained run; there is no such run"):
        check({}, seeds=(9,))
    with pytest.raises(
        UserError, match=r"another source vocabulary .* take it by task.vocabulary:saved"
    ):
        check({"task.vocabulary": SplitWords(min_count=9)})
    narrow = BertEncoder(width=2, num_layers=1, layer=bert_layer(heads=1, width=2))
    with pytest.raises(UserError, match=r"no parameter of .* path and shape .* BertClassifier"):
        begun(vary(experiment, {"model.bert": narrow}), runs, tmp_path)
    copy = tmp_path / "runs"
    shutil.copytree(source, copy / "read" / "pretraining" / "seed-0")
    (copy / "read" / "pretraining" / "seed-0" / "result.json").unlink()
    with pytest.raises(UserError, match="its training has not ended"):
        check_initial_parameters(experiment, vocabularies, [0], copy, ())


def test_a_dry_run_knows_which_runs_come_first(trained, tmp_path):
    runs, _ = trained
    loaded = load(runs.parent / "read.py")

    def planned(*variants):
        folder = tmp_path / "runs" / "read"
        return resolve(Request(loaded=loaded, variants=variants, folder=folder))

    assert [one.name for one in dry_run(planned())] == ["pretraining", "fine_tuned"]
    with pytest.raises(UserError, match="there is no such run"):
        dry_run(planned("fine_tuned"))


def test_a_run_that_goes_on_began_with_the_same_parameters(trained, tmp_path):
    runs, _ = trained
    folder = tmp_path / "seed-0"
    shutil.copytree(runs / "read" / "fine_tuned" / "seed-0", folder)
    begun(fine_tuned(runs), runs, folder)
    other = vary(fine_tuned(runs), {"initial_parameters_from": str(runs / "read" / "fine_tuned")})
    with pytest.raises(UserError, match="began with parameters that .* no longer has"):
        begun(other, runs, folder)


def test_the_vocabulary_of_a_run_can_be_kept(trained):
    runs, _ = trained
    folder = runs / "read" / "pretraining" / "seed-0" / "vocabulary"
    task = vary(fine_tuned(runs).task, {"vocabulary": SplitWords(min_count=9)})
    saved = vary(task, {"vocabulary": SavedVocabulary(folder=str(folder))}).load()
    expected = fine_tuned(runs).task.load().vocabularies.source
    assert saved.vocabularies.source.digest == expected.digest
    assert task.load().vocabularies.source.digest != expected.digest


def test_pretraining_measures_hidden_words(trained):
    runs, _ = trained
    result = read_result(runs / "read" / "pretraining" / "seed-0")
    found = {one.key.name: one.value for one in map(Measurement.of, result.metrics)}
    assert found.keys() == {"masked_perplexity", "masked_accuracy"}
    assert found["masked_perplexity"] > 1
    assert 0 <= found["masked_accuracy"] <= 1
