"""Beam search as `attnjax evaluate` does it: the tiny Transformer, beam 5, exactly 15 words."""

from collections import Counter
from functools import partial
from typing import Any

import jax
import numpy as np

from attnjax.data.batching import Batching
from attnjax.data.special_tokens import END
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import EXTRA
from attnjax.decoding.search import Hypotheses
from attnjax.evaluation.decode_corpus import hypotheses
from attnjax.evaluation.flops import product_flops
from attnjax.models.sequence_model import SequenceModel
from benchmarks.train import SIZES, SYMBOLS, VOCABULARY, transformer
from benchmarks.workload import Prepared, Workload

SENTENCES, SHORTEST, LONGEST, ROWS, BEAM, WORDS = 1_000, 8, 21, 64, 5, 15


def prepare() -> Prepared:
    """Prepare random sources of 8 to 21 words, and random parameters."""
    random = np.random.default_rng(0)
    sources = [
        [*random.integers(SYMBOLS, VOCABULARY, length).tolist(), END]
        for length in random.integers(SHORTEST, LONGEST + 1, SENTENCES)
    ]
    model = transformer(SIZES["tiny"])
    some = np.full((1, 1), END, np.int32)
    draw = jax.jit(partial(model.init, deterministic=True))
    params = draw(jax.random.key(0), some, some)["params"]
    search = Beam(size=BEAM, min_words=WORDS, max_words=WORDS)
    # a batch has room for its longest hypotheses
    batching = Batching(max_tokens=ROWS * (LONGEST + 1 + EXTRA), shapes=1)

    def call() -> list[Hypotheses]:
        return hypotheses(model, params, sources, search=search, batching=batching)

    lengths = Counter(map(len, sources))
    flops = sum(count * _flops(model, params, length) for length, count in lengths.items())
    return Prepared(call=call, flops=flops)


def _flops(model: SequenceModel, params: Any, length: int) -> int:
    """Count a sentence's FLOPs: its encoder, and a step of BEAM hypotheses a word, END included."""

    def call(method: str, *arguments: Any, **named: Any) -> Any:
        return model.apply({"params": params}, *arguments, method=method, **named)

    def begin(source: jax.Array) -> Any:
        memory, mask = call("encode", source, deterministic=True)
        return call("start", memory, mask, length=WORDS + 1, beams=BEAM)

    def integers(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, np.int32)

    begun = jax.eval_shape(begin, integers(1, length))
    step = product_flops(partial(call, "step"), *begun, integers(1, BEAM), integers())
    return product_flops(begin, integers(1, length)) + (WORDS + 1) * step


WORKLOADS = (
    Workload(
        name="decode-tiny",
        prepare=prepare,
        peer=("ctranslate2_beam.py",),
        amount=SENTENCES,
        unit="sentences/s",
    ),
)
