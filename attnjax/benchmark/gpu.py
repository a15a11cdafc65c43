"""The workloads for a GPU: `python -m attnjax.benchmark.gpu [PYTHON with torch] > gpu.json`."""

import sys
from functools import partial
from pathlib import Path

import jax

from attnjax.benchmark import attention, train
from attnjax.benchmark.report import machine
from attnjax.benchmark.turns import measure
from attnjax.benchmark.workload import GPU_SIDE, Prepared, Workload, product
from attnjax.config.serialize import json_text
from attnjax.errors import UserError
from attnjax.models.transformer import Transformer

VOCABULARY, ROWS, LENGTH = 37_000, 512, 48
"""Vaswani et al. 2017, section 5.1: about 25,000 tokens a side."""
HEADS, TOKENS, LENGTHS = 32, 16_384, (512, 1_024, 2_048, 4_096, 8_192, 16_384)
SEEDS = 8
"""The runs of the tiny Transformer that train together, beside one."""


def base() -> Prepared:
    """The paper's base model as it was trained, in bfloat16; it took 400 ms on 8 P100."""
    model = Transformer(vocabulary=VOCABULARY)
    return train.prepare(model, train.batch(ROWS, LENGTH), precision="bfloat16")


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
    tiny = partial(train.prepare_size, train.SIZES["tiny"])
    workloads = [
        Workload(name="gpu-base", prepare=base),
        *(Workload(name=f"gpu-seeds-{n}", prepare=partial(tiny, seeds=n)) for n in (1, SEEDS)),
        *map(attended, LENGTHS),
    ]
    rows = []
    try:
        for workload in workloads:
            rows.append(measure(workload, python, limit))
    finally:
        # also where a peer lacks its engine: what was measured is not lost
        if rows:
            print(json_text({**machine(), "workloads": rows}))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
