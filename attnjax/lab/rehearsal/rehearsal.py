"""Compile a training step for chips that are not here, and read its costs from the program."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax

from attnjax.attention.fused import dispatch
from attnjax.data.batch_plan import Batch, PackedBatch
from attnjax.errors import UserError
from attnjax.evaluation.flops import jaxpr_flops
from attnjax.lab.rehearsal.chips import Topology
from attnjax.lab.rehearsal.hlo import parse
from attnjax.lab.rehearsal.traffic import Collective, collectives, kernel_bytes, memory_bytes
from attnjax.training.devices import sharding
from attnjax.training.settings import Precision, Recipe
from attnjax.training.step import state_shapes, train_step


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """The costs of a training step on a slice; all figures are of one chip.

    Attributes:
        batch: the shapes of the whole batch.
        arguments: bytes of the state and of the chip's rows of the batch.
        temporaries: bytes beside them while the step runs.
        flops: operations of the step's matrix products.
        traffic: bytes between memory and chip.
        collectives: the exchanges with other chips.
        kernels: sentences about attentions that do not use the platform's kernel.
    """

    on: Topology
    precision: Precision
    batch: Batch | PackedBatch
    arguments: int
    temporaries: int
    flops: int
    traffic: int
    collectives: tuple[Collective, ...]
    compile_seconds: float
    kernels: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether the step fits into the chip's memory."""
        return self.arguments + self.temporaries <= self.on.chip.memory

    @property
    def seconds(self) -> dict[str, float]:
        """Lower bounds in seconds: compute, memory traffic and interconnect, each taken alone."""
        chip = self.on.chip
        return {
            "compute": self.flops / chip.flops(self.precision),
            "memory": self.traffic / chip.bandwidth,
            "interconnect": sum(map(self.exchange_seconds, self.collectives)),
        }

    @property
    def bottleneck(self) -> str:
        """The largest of the lower bounds, which is that of the step."""
        return max(self.seconds, key=lambda side: self.seconds[side])

    def exchange_seconds(self, exchange: Collective) -> float:
        """Return a lower bound for an exchange, by a ring or tree that uses all links of a chip.

        Arrays are divided into a part for each chip; an all-reduce sends each part twice.
        """
        others = (self.on.count - 1) / self.on.count
        sent = exchange.bytes * exchange.times * others
        return sent * (2 if exchange.kind == "all-reduce" else 1) / self.on.chip.interconnect


def rehearse(recipe: Recipe, batch: Batch | PackedBatch, on: Topology) -> Rehearsal:
    """Compile a training step for a slice, and read its costs there.

    The model has its vocabularies filled in; the batch has the shapes of the largest.

    Raises:
        UserError: the compiler is not installed, the chips do not divide the rows, or the step
            needs more memory than a chip has.
    """
    devices = sharding.devices_of(on.devices(), recipe.training.parallel, seeds=False)
    state = state_shapes(recipe, batch)
    step: Any = devices.compile(partial(train_step, recipe=recipe), donate=True)
    arguments = devices.shapes(state, batch)
    with _logged(dispatch.log) as records:
        traced = jax.make_jaxpr(step)(*arguments).jaxpr
    began = time.monotonic()
    compiled = _compile(step.lower(*arguments), on)
    seconds = time.monotonic() - began
    memory, program = compiled.memory_analysis(), parse(compiled.as_text())
    return Rehearsal(
        on=on,
        precision=recipe.training.precision,
        batch=batch,
        arguments=memory.argument_size_in_bytes,
        temporaries=memory.temp_size_in_bytes
        + memory.output_size_in_bytes
        - memory.alias_size_in_bytes
        + memory.generated_code_size_in_bytes,
        flops=jaxpr_flops(traced),
        traffic=memory_bytes(program) + kernel_bytes(traced),
        collectives=tuple(collectives(program)),
        compile_seconds=seconds,
        kernels=tuple(dict.fromkeys(record.getMessage() for record in records)),
    )


def _compile(lowered: Any, on: Topology) -> Any:
    """Compile a program; raise a UserError if it needs more memory than a chip has."""
    try:
        return lowered.compile()
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        reason = next((line for line in str(error).splitlines() if "Used" in line), str(error))
        raise UserError(
            f"the step does not fit into the memory of a {on.chip.name}: {reason.strip()[:200]}; "
            "take smaller batches (--training.batching.max_tokens) or more chips"
        ) from error


@contextmanager
def _logged(log: logging.Logger) -> Iterator[list[logging.LogRecord]]:
    """Collect the records of a log within the block; they reach no handler."""
    records, level = list[logging.LogRecord](), log.level

    def keep(record: logging.LogRecord) -> bool:
        records.append(record)
        return False

    log.addFilter(keep)
    log.setLevel(logging.INFO)
    try:
        yield records
    finally:
        log.setLevel(level)
        log.removeFilter(keep)
