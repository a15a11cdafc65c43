"""A BERT in the public layout, as `transformers` writes it, imported into a run's folder."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.attention.position import Learned
from attnjax.config.constraints import DropoutRate, PositiveInt, check_fields
from attnjax.config.read_json import known_keys
from attnjax.config.serialize import to_json
from attnjax.data.corpora.sentences import PairLabels, SentencePairs
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL
from attnjax.data.wordpiece import order_of, read_pieces
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import load_text
from attnjax.lab.runs.lease import leased
from attnjax.lab.runs.manifest import EXPERIMENT, manifest
from attnjax.lab.runs.run_folder import RESULT, claim_folder
from attnjax.lab.trained.bert_tokenizer import (
    WORDS,
    read_object,
    warn_of_lost_pieces,
    word_pieces as _words,
)
from attnjax.lab.trained.export import ARRAYS, read_arrays, write_imported
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.models.bert_heads import BertPretraining
from attnjax.nn.paths import unflat
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel

CONFIG = "config.json"
"""The file of the sizes of a model."""

VARIANT = "experiment"

TEXT = """{note!r}

from attnjax.lab.trained.import_bert import experiment_of

experiment = experiment_of({folder!r})
"""
"""The experiment file. A folder's name may be anything: it becomes source as a literal alone."""


def experiment_of(folder: str) -> Experiment:
    """Return the experiment that stands for an imported BERT: its model, words, sentence pairs."""
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
        wanted = manifest(loaded, VARIANT, 0, to_json(experiment, loaded.own))
        claim_folder(run, wanted, loaded, vocabularies)
        write_imported(run, params, wanted)
    return run


ONLY = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}
"""The only values that a config.json may have for its fields beside sizes and dropout."""


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The sizes of a BERT from its config.json; the names are those of the layout."""

    vocab_size: PositiveInt
    hidden_size: PositiveInt
    num_hidden_layers: PositiveInt
    num_attention_heads: PositiveInt
    intermediate_size: PositiveInt
    max_position_embeddings: PositiveInt
    type_vocab_size: PositiveInt
    hidden_dropout_prob: DropoutRate = 0.1
    attention_probs_dropout_prob: DropoutRate = 0.1

    @classmethod
    def read(cls, content: Mapping[str, Any], where: str) -> "BertConfig":
        """Read the config of a JSON object; `where` is the file that errors name."""
        for name, wanted in ONLY.items():
            if content.get(name, wanted) != wanted:
                raise UserError(f"{where} must have {name} {wanted!r}; got {content[name]!r}")
        for field in fields(cls):
            if field.name not in content and field.default is MISSING:
                raise UserError(f"{where} must give {field.name}; it does not")
        config = cls(**known_keys(content, cls))
        check_fields(config, where)
        if config.hidden_size % config.num_attention_heads:
            raise UserError(
                f"{where}: {config.num_attention_heads} heads (num_attention_heads) do not divide "
                f"the width {config.hidden_size} (hidden_size)"
            )
        return config

    def model(self) -> BertPretraining:
        """Return a model of these sizes."""
        bert = BertEncoder(
            width=self.hidden_size,
            num_layers=self.num_hidden_layers,
            layer=bert_layer(
                heads=self.num_attention_heads,
                width=self.intermediate_size,
                dropout=self.attention_probs_dropout_prob,
            ),
            position=Learned(max_length=self.max_position_embeddings),
            segments=self.type_vocab_size,
            dropout=self.hidden_dropout_prob,
        )
        return BertPretraining(bert=bert, dropout=self.hidden_dropout_prob)


@dataclass(frozen=True)
class Layout:
    """The arrays of the public layout, read by their names; errors name the file `where`."""

    arrays: Mapping[str, np.ndarray]
    where: str

    def array(self, name: str, *shape: int) -> np.ndarray:
        """Return the array of a name, in float32 or wider."""
        if name not in self.arrays:
            raise UserError(f"{self.where} is not in BERT's layout: it has no array {name}")
        array = self.arrays[name]
        if array.shape != shape:
            raise UserError(
                f"{name} must have the shape {list(shape)} by config.json; in {self.where} it has "
                f"{list(array.shape)}"
            )
        return array.astype(np.promote_types(array.dtype, np.float32))

    def linear(self, name: str, inputs: int, outputs: int) -> dict[str, np.ndarray]:
        """Return a linear map; its matrix is [out, in] in the layout, [in, out] here."""
        return {
            "kernel": self.array(f"{name}.weight", outputs, inputs).T,
            "bias": self.array(f"{name}.bias", outputs),
        }

    def norm(self, name: str, width: int) -> dict[str, np.ndarray]:
        """Return a layer norm; files of the first years name its arrays gamma and beta."""
        old = f"{name}.gamma" in self.arrays
        scale, bias = ("gamma", "beta") if old else ("weight", "bias")
        return {
            "scale": self.array(f"{name}.{scale}", width),
            "bias": self.array(f"{name}.{bias}", width),
        }


def parameters_of(layout: Layout, config: BertConfig, order: Sequence[int]) -> dict[str, Any]:
    """Return the parameters in the layout, as those of `BertPretraining`.

    `order` has for each of our ids the layout's id; that of MASK is the last.
    """
    width, ids, unused = config.hidden_size, np.asarray(order), len(SPECIAL)

    def table(name: str, rows: int) -> np.ndarray:
        return layout.array(f"bert.embeddings.{name}_embeddings.weight", rows, width)

    params: dict[str, Any] = {
        "encoder.embedding": table("word", config.vocab_size)[ids],
        "encoder.segment": table("token_type", config.type_vocab_size),
        "encoder.position.embedding": table("position", config.max_position_embeddings),
        "encoder.norm": layout.norm("bert.embeddings.LayerNorm", width),
    }
    for number in range(config.num_hidden_layers):
        layer = _layer(layout, config, f"bert.encoder.layer.{number}")
        params |= {f"encoder.layers_{number}.{path}": value for path, value in layer.items()}
    next_sentence = layout.linear("cls.seq_relationship", width, 2)  # the rows are next and other
    params |= {
        "pooler": layout.linear("bert.pooler.dense", width, width),
        "next_sentence.kernel": np.pad(next_sentence["kernel"].T, ((unused, 0), (0, 0))),
        "next_sentence.bias": np.pad(next_sentence["bias"], (unused, 0)),
        "transform": layout.linear("cls.predictions.transform.dense", width, width),
        "norm": layout.norm("cls.predictions.transform.LayerNorm", width),
        "word_bias": layout.array("cls.predictions.bias", config.vocab_size)[ids[:-1]],
    }
    return unflat(params)


def _layer(layout: Layout, config: BertConfig, name: str) -> dict[str, Any]:
    """Return a layer's parameters by path; heads' linear maps are [D, H, K] and [H, K, D] here."""
    width, heads, hidden = config.hidden_size, config.num_attention_heads, config.intermediate_size

    def projection(of: str) -> dict[str, np.ndarray]:
        linear = layout.linear(f"{name}.attention.self.{of}", width, width)
        return {
            "kernel": linear["kernel"].reshape(width, heads, -1),
            "bias": linear["bias"].reshape(heads, -1),
        }

    out = layout.linear(f"{name}.attention.output.dense", width, width)
    return {
        **{f"self_attention.{of}": projection(of) for of in ("query", "key", "value")},
        "self_attention.out": out | {"kernel": out["kernel"].reshape(heads, -1, width)},
        "self_attention_residual.norm": layout.norm(f"{name}.attention.output.LayerNorm", width),
        "feed_forward.hidden": layout.linear(f"{name}.intermediate.dense", width, hidden),
        "feed_forward.out": layout.linear(f"{name}.output.dense", hidden, width),
        "feed_forward_residual.norm": layout.norm(f"{name}.output.LayerNorm", width),
    }


def _config(folder: Path) -> BertConfig:
    return BertConfig.read(read_object(folder / CONFIG), str(folder / CONFIG))
