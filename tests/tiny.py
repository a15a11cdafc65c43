"""Can a tiny Transformer copy?  Nobody 2026, Table 0.

An experiment file of seconds, for the tests, with a score of its own.

    attnjax run tests/tiny.py
"""

import jax
import jax.numpy as jnp

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Score, dot
from attnjax.config.vary import vary
from attnjax.data.batching import Batching
from attnjax.data.generated.sequences import Copy
from attnjax.decoding.greedy import Greedy
from attnjax.evaluation.measures.alignment import Alignment
from attnjax.evaluation.measures.saturation import Saturation
from attnjax.experiment import Ablation, Claim, Experiment, Published, Setting, Value
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Training


class Cosine(Score):
    """A newcomer's own: logits[t, s] = sharpness cos(query[t], key[s])."""

    sharpness: float = 5.0

    def __call__(self, query: jax.Array, key: jax.Array, positions: Positions) -> jax.Array:
        lengths = jnp.linalg.norm(query, axis=-1)[..., None] * jnp.linalg.norm(key, axis=-1)[
            ..., None, :
        ].clip(1e-6)
        return self.sharpness * dot(query, key) / lengths


heads = MultiHead(heads=2)
base = Experiment(
    task=Copy(symbols=6, longest=4, train=48, valid=8, test=8),
    model=Transformer(
        width=16,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=FeedForward(width=16)),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=FeedForward(width=16)
        ),
    ),
    optimizer=Adam(schedule=Constant(value=1e-2)),
    training=Training(steps=6, batching=Batching(max_tokens=80, shapes=1, batch_size_multiple=1)),
    search=Greedy(),
    measures=(Alignment(), Saturation(examples=8)),
)
ablation = Ablation(
    base=base,
    variants={
        "scaled": base,
        "cosine": vary(base, {"model.encoder_layer.self_attention.head.score": Cosine()}),
    },
    seeds=2,
    claims=(
        Claim(text="It learns.", estimand=Value("exact_match", "scaled"), low=0.0),
        Claim(text="Cosines learn.", estimand=Value("exact_match", "cosine"), low=0.9),
    ),
    published=(
        Published(paper="Nobody", table="Table 0", variant="scaled", metric="bleu", value=1.0),
    ),
    settings={
        "short": Setting(
            changes={"training.steps": 2},
            variants={"shorter": vary(base, {"training.steps": 1})},
            claims=(Claim(text="It hurries.", estimand=Value("exact_match", "shorter"), low=0.0),),
        )
    },
)
