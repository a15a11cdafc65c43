"""Reading BERT's parameters from the public layout, which `transformers` writes."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.attention.position import Learned
from attnjax.config.constraints import DropoutRate, PositiveInt, check_fields
from attnjax.config.record import known_keys
from attnjax.config.serialize import parse_json
from attnjax.data.vocabulary import SPECIAL
from attnjax.errors import UserError
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.models.bert_heads import BertPretraining
from attnjax.nn.paths import unflat

ONLY = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}
"""The only values that a config.json may have for its fields beside sizes and dropout."""


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of the layout."""
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"a BERT's {path.name} was wanted; there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} must hold a JSON object; it holds something else")
    return content


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
        """The config of a JSON object; `where` is the file that errors name."""
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
        """The model of these sizes."""
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
        """The array of a name, in float32 or wider."""
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
        """A linear map; its matrix is [out, in] in the layout, [in, out] here."""
        return {
            "kernel": self.array(f"{name}.weight", outputs, inputs).T,
            "bias": self.array(f"{name}.bias", outputs),
        }

    def norm(self, name: str, width: int) -> dict[str, np.ndarray]:
        """A layer norm; files of the first years name its arrays gamma and beta."""
        old = f"{name}.gamma" in self.arrays
        scale, bias = ("gamma", "beta") if old else ("weight", "bias")
        return {
            "scale": self.array(f"{name}.{scale}", width),
            "bias": self.array(f"{name}.{bias}", width),
        }


def parameters_of(layout: Layout, config: BertConfig, order: Sequence[int]) -> dict[str, Any]:
    """The parameters in the layout, as those of `BertPretraining`.

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
    """A layer's parameters by path; the linear maps of heads are [D, H, K] and [H, K, D] here."""
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
