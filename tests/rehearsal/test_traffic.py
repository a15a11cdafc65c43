"""Bytes that a program moves: each array once, parts where only parts are read or written."""

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec

from attnjax.lab.rehearsal.hlo import parse
from attnjax.lab.rehearsal.traffic import Collective, collectives, memory_bytes
from tests.rehearsal.test_hlo import TPU

F = 4  # the bytes of a float32


def compiled(function, *shapes, donate=()):
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    lowered = jax.jit(function, donate_argnums=donate).lower(*arguments)
    return parse(lowered.compile().as_text())


def test_a_fusion_reads_its_operands_and_writes_its_result_once():
    program = compiled(lambda x, y: jnp.sin(x) * y + x, (64, 32), (64, 32))
    assert memory_bytes(program) == 3 * 64 * 32 * F


def test_a_loop_counts_as_often_as_it_runs():
    def looped(x, steps):
        return jax.lax.scan(lambda carry, _: (jnp.sin(carry), None), x, None, length=steps)[0]

    few, many = (
        memory_bytes(compiled(lambda x, steps=steps: looped(x, steps), (64, 32)))
        for steps in (10, 30)
    )
    # a step reads and writes the array, and the counter
    assert 20 * 2 * 64 * 32 * F <= many - few <= 20 * 2 * (64 * 32 * F + 64)


def test_rows_of_a_table_are_read_not_the_table():
    def rows(table):
        return jnp.sin(table[:2])

    def looked_up(table):
        return table[jnp.array([3, 5, 7])]

    assert memory_bytes(compiled(rows, (1000, 8))) == 2 * 2 * 8 * F
    assert memory_bytes(compiled(looked_up, (1000, 8))) < 10 * 3 * 8 * F


def test_a_part_that_is_written_in_place_counts_alone():
    def written(table, row):
        return table.at[3].set(jnp.sin(row))

    program = compiled(written, (1000, 8), (8,), donate=(0,))
    assert memory_bytes(program) < 10 * 8 * F


def test_what_stays_on_the_chip_does_not_count():
    """The copy to the chip reads 4 KiB; seven negations there move nothing."""
    assert memory_bytes(parse(TPU)) == 8 * 128 * F


def test_an_exchange_of_several_arrays_and_one_that_is_begun_and_done():
    program = """\
ENTRY %main (a: f32[2,3], b: s32[], c: bf16[4], d: f32[5]) -> f32[5] {
  %a = f32[2,3]{1,0} parameter(0)
  %b = s32[] parameter(1)
  %c = bf16[4]{0} parameter(2)
  %d = f32[5]{0} parameter(3)
  %sum = (f32[2,3]{1,0}, s32[], bf16[4]{0}) all-reduce(%a, %b, %c), channel_id=1
  %begun = f32[5]{0} all-reduce-start(%d), channel_id=2
  ROOT %done = f32[5]{0} all-reduce-done(%begun)
}
"""
    sizes = [4 * (6 + 1) + 2 * 4, 4 * 5]
    assert collectives(parse(program)) == [Collective("all-reduce", 1, size) for size in sizes]


ASYNCHRONOUS = """\
%begin (p: bf16[8,4]) -> (bf16[8,4], bf16[8,32], u32[]) {
  %p = bf16[8,4]{1,0} parameter(0)
  %gather.1 = bf16[8,32]{1,0} all-gather(%p), channel_id=5, dimensions={1}
  ROOT %start = (bf16[8,4]{1,0}, bf16[8,32]{1,0}, u32[]{:S(2)}) custom-call(%gather.1), \
custom_call_target="AsyncCollectiveStart"
}

%carry (x: f32[64], p: bf16[8,4], q: bf16[8,32], u: u32[]) -> (f32[64], bf16[8,4]) {
  %x = f32[64]{0} parameter(0)
  %sine = f32[64]{0} sine(%x)
  %p = bf16[8,4]{1,0} parameter(1)
  %q = bf16[8,32]{1,0} parameter(2)
  %gather.2 = bf16[8,32]{1,0} all-gather(%p), channel_id=5, dimensions={1}
  %u = u32[]{:S(2)} parameter(3)
  ROOT %both = (f32[64]{0}, bf16[8,4]{1,0}, bf16[8,32]{1,0}, bf16[8,32]{1,0}, u32[]{:S(2)}) \
tuple(%sine, %p, %q, %gather.2, %u)
}

%end (p: bf16[8,4], q: bf16[8,32], u: u32[]) -> bf16[8,32] {
  %p = bf16[8,4]{1,0} parameter(0)
  %q = bf16[8,32]{1,0} parameter(1)
  %gather.3 = bf16[8,32]{1,0} all-gather(%p), channel_id=5, dimensions={1}
  %u = u32[]{:S(2)} parameter(2)
  ROOT %done = bf16[8,32]{1,0} custom-call(%p, %q, %gather.3, %u), \
custom_call_target="AsyncCollectiveDone"
}

ENTRY %main (a: bf16[8,4], b: f32[64]) -> (f32[64], bf16[8,32]) {
  %a = bf16[8,4]{1,0} parameter(0)
  %b = f32[64]{0} parameter(1)
  %begun = (bf16[8,4]{1,0}, bf16[8,32]{1,0}, u32[]{:S(2)}) fusion(%a), kind=kCustom, calls=%begin
  %p = bf16[8,4]{1,0} get-tuple-element(%begun), index=0
  %q = bf16[8,32]{1,0} get-tuple-element(%begun), index=1
  %u = u32[]{:S(2)} get-tuple-element(%begun), index=2
  %work = (f32[64]{0}, bf16[8,4]{1,0}, bf16[8,32]{1,0}, bf16[8,32]{1,0}, u32[]{:S(2)}) \
fusion(%b, %p, %q, %u), kind=kCustom, calls=%carry
  %sine = f32[64]{0} get-tuple-element(%work), index=0
  %p.1 = bf16[8,4]{1,0} get-tuple-element(%work), index=1
  %q.1 = bf16[8,32]{1,0} get-tuple-element(%work), index=2
  %u.1 = u32[]{:S(2)} get-tuple-element(%work), index=4
  %ended = bf16[8,32]{1,0} fusion(%p.1, %q.1, %u.1), kind=kCustom, calls=%end
  ROOT %result = (f32[64]{0}, bf16[8,32]{1,0}) tuple(%sine, %ended)
}
"""


def test_an_exchange_that_goes_on_beside_fusions_counts_once():
    """A TPU's form: one fusion begins the exchange, others carry it on, and the last ends it."""
    program = parse(ASYNCHRONOUS)
    whole, piece = 2 * 8 * 32, 2 * 8 * 4
    assert collectives(program) == [Collective("all-gather", 1, whole)]
    assert memory_bytes(program) == piece + whole + 2 * 64 * F


@pytest.mark.parametrize("times", [1, 5])
def test_exchanges_and_how_often(times):
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))

    def summed(x):
        def step(carry, _):
            return jax.lax.psum(jnp.sin(carry), "data"), None

        return jax.lax.scan(step, x, None, length=times)[0]

    mapped = jax.shard_map(
        summed,
        mesh=mesh,
        in_specs=PartitionSpec("data"),
        out_specs=PartitionSpec("data"),
        check_vma=False,
    )
    assert collectives(compiled(mapped, (8, 32))) == [Collective("all-reduce", times, 32 * F)]
