"""The workloads for a GPU."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax

from attnjax.errors import UserError
from attnjax.models.transformer import Transformer
from benchmarks import attention, train
from benchmarks.turns import measure
from benchmarks.workload import GPU_SIDE, Prepared, Workload, product

VOCABULARY, ROWS, LENGTH = 37_000, 512, 48
"""Vaswani et al. 2017, section 5.1: about 25,000 tokens a side."""
HEADS, TOKENS, LENGTHS = 32, 16_384, (512, 1_024, 2_048, 4_096, 8_192, 16_384)
SEEDS = 8
"""The runs of the tiny Transformer that train together, beside one."""


def base() -> Prepared:
    """Prepare the paper's base model as it was trained, in bfloat16; it took 400 ms on 8 P100."""
    model = Transformer(vocabulary=VOCABULARY)
    return train.prepare(model, train.batch(ROWS, LENGTH), precision="bfloat16")


def attention_workload(length: int) -> Workload:
    """Return the workload of causal attention in bfloat16, `TOKENS` of them at every length."""
    rows = TOKENS // length
    return Workload(
        name=f"gpu-attention-{length}",
        prepare=lambda: attention.prepare(length, rows, HEADS, "bfloat16"),
        peer=("torch_attention.py", str(length), str(rows), str(HEADS), "cuda", "bfloat16"),
    )


def measure_all(python: Path | None) -> Iterator[dict[str, Any]]:
    """Measure the workloads, and yield the row of each.

    Raises:
        UserError: JAX has no GPU, or the peer cannot run.
    """
    if jax.devices()[0].platform != "gpu":
        raise UserError(f"this benchmark needs a GPU; JAX found {jax.devices()[0].device_kind}")
    limit = product(GPU_SIDE, "bfloat16")
    tiny = partial(train.prepare_size, train.SIZES["tiny"])
    workloads = [
        Workload(name="gpu-base", prepare=base),
        *(Workload(name=f"gpu-seeds-{n}", prepare=partial(tiny, seeds=n)) for n in (1, SEEDS)),
        *map(attention_workload, LENGTHS),
    ]
    for number, workload in enumerate(workloads, start=1):
        print(f"{number} of {len(workloads)}: {workload.name}", file=sys.stderr, flush=True)
        yield measure(workload, python, limit)
