"""Imports a BERT from the public layout, as `transformers` writes it, into a run's folder."""

from pathlib import Path

from attnjax.data.corpora.sentences import PairLabels, SentencePairs
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.wordpiece import order_of, read_pieces
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import load_text
from attnjax.runs.lease import leased
from attnjax.runs.manifest import EXPERIMENT, manifest
from attnjax.runs.run_folder import RESULT, claim_folder
from attnjax.trained.bert_layout import BertConfig, Layout, parameters_of, read_object
from attnjax.trained.bert_tokenizer import WORDS, warn_of_lost_pieces, word_pieces as _words
from attnjax.trained.imports import ARRAYS, read_arrays, write_imported
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel

CONFIG = "config.json"
"""The file of the sizes of a model."""

VARIANT = "experiment"

TEXT = """{note!r}

from attnjax.trained.import_bert import experiment_of

experiment = experiment_of({folder!r})
"""
"""The experiment file. A folder's name may be anything: it becomes source as a literal alone."""


def experiment_of(folder: str) -> Experiment:
    """The experiment that stands for an imported BERT: its model, its words, pairs of sentences."""
    path = Path(folder)
    return Experiment(
        task=SentencePairs(files=("sentences.txt",), vocabulary=_words(path)),
        model=_config(path).model(),
        objective=MaskedLanguageModel(),
        search=Label(),
    )


def import_bert(folder: Path, runs: Path) -> Path:
    """Write a BERT of the public layout as a finished run below `runs`; returns the run's folder.

    `folder` has config.json, vocab.txt and model.safetensors, and perhaps its tokenizer's files.

    Raises:
        UserError: a file is missing or damaged, the model is no BERT or reads text in another way,
            an array is missing or has another shape, or the run is there already.
    """
    folder = folder.resolve()
    config, pieces = _config(folder), read_pieces(folder / WORDS)
    if len(pieces) != config.vocab_size:
        raise UserError(
            f"{folder / WORDS} has {len(pieces):,} lines; vocab_size in {folder / CONFIG} is "
            f"{config.vocab_size:,}"
        )
    arrays = read_arrays(folder / ARRAYS)
    params = parameters_of(Layout(arrays, str(folder / ARRAYS)), config, order_of(pieces))
    name = "".join(letter if letter.isalnum() or letter in "_-+" else "_" for letter in folder.name)
    run = runs / name / VARIANT / "seed-0"
    if (run / RESULT).exists():
        raise UserError(f"{run} is there already: choose another --runs")
    note = f"The BERT in {str(folder)!r}, imported.  Devlin et al. 2019."
    text = TEXT.format(note=note, folder=str(folder))
    loaded = load_text(text, name=name, path=run / EXPERIMENT)
    experiment = loaded.ablation.base
    words = _words(folder)
    warn_of_lost_pieces(words, pieces)
    vocabularies = Vocabularies(words.learn(()), PairLabels().learn(()))
    with leased([run]):
        wanted = manifest(loaded, VARIANT, 0, experiment)
        claim_folder(run, wanted, loaded, vocabularies)
        write_imported(run, params, wanted)
    return run


def _config(folder: Path) -> BertConfig:
    return BertConfig.read(read_object(folder / CONFIG), str(folder / CONFIG))
