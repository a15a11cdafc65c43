"""The workloads for a GPU: `python -m attnjax.benchmark.gpu [PYTHON with torch] > gpu.json`."""

import json
import sys
from pathlib import Path

import jax

from attnjax.benchmark import attention, train
from attnjax.benchmark.report import machine
from attnjax.benchmark.turns import measure
from attnjax.benchmark.workload import GPU_SIDE, Workload, product
from attnjax.errors import UserError
from attnjax.models.transformer import Transformer

VOCABULARY, ROWS, LENGTH = 37_000, 512, 48
"""Vaswani et al. 2017, section 5.1: about 25,000 tokens a side."""
HEADS, TOKENS, LENGTHS = 32, 16_384, (512, 1_024, 2_048, 4_096, 8_192, 16_384)
SEEDS = 8


def base() -> Workload:
    """The paper's base model as it was trained, in bfloat16; it took 400 ms on 8 P100."""
    model = Transformer(vocabulary=VOCABULARY)
    return Workload(
        name="gpu-base",
        prepare=lambda: train.prepare(model, train.batch(ROWS, LENGTH), precision="bfloat16"),
    )


def seeds(count: int) -> Workload:
    """So many runs of the tiny Transformer together."""
    return Workload(
        name=f"gpu-seeds-{count}",
        prepare=lambda: train.prepare_size(train.SIZES["tiny"], seeds=count),
    )


def attended(length: int) -> Workload:
    """Causal attention in bfloat16 over as many tokens at every length."""
    rows = TOKENS // length
    return Workload(
        name=f"gpu-attention-{length}",
        prepare=lambda: attention.prepare(length, rows, HEADS, "bfloat16"),
        peer=("torch_attention.py", str(length), str(rows), str(HEADS), "cuda", "bfloat16"),
    )


def main(python: Path | None) -> None:
    """Print one JSON object."""
    if jax.devices()[0].platform != "gpu":
        raise UserError(f"this benchmark needs a GPU; JAX found {jax.devices()[0].device_kind}")
    limit = product(GPU_SIDE, "bfloat16")
    ours = [(own, None) for own in (base(), seeds(1), seeds(SEEDS))]
    rows = []
    try:
        for workload, peer in [*ours, *((attended(length), python) for length in LENGTHS)]:
            rows.append(measure(workload, peer, limit))
    finally:
        # also where a peer lacks its engine: what was measured is not lost
        if rows:
            print(json.dumps({**machine(), "workloads": rows}))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
