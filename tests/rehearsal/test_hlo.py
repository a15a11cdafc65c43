"""XLA's text of a program: sizes of arrays, operands, loops."""

import jax
import jax.numpy as jnp
import pytest

from attnjax.lab.rehearsal.hlo import Array, parse, trips

TPU = """\
HloModule jit_f, is_scheduled=true

%body (p: (s32[], f32[4,8])) -> (s32[], f32[4,8]) {
  %p = (s32[]{:T(128)}, f32[4,8]{1,0:T(8,128)S(1)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%p), index=0
  %x = f32[4,8]{1,0:T(8,128)S(1)} get-tuple-element(%p), index=1
  %y = f32[4,8]{1,0:T(8,128)S(1)} negate(%x), metadata={op_name="jit(f)/neg(s)"}
  ROOT %t = (s32[]{:T(128)}, f32[4,8]{1,0:T(8,128)S(1)}) tuple(%i, /*index=1*/%y)
}

%test (p.1: (s32[], f32[4,8])) -> pred[] {
  %n = s32[]{:T(128)} constant(7)
  %p.1 = (s32[]{:T(128)}, f32[4,8]{1,0:T(8,128)S(1)}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=0
  ROOT %less = pred[]{:T(512)} compare(%i.1, %n), direction=LT
}

ENTRY %main (a: f32[4,8]) -> f32[4,8] {
  %a = f32[4,8]{1,0:T(8,128)} parameter(0)
  %zero = s32[]{:T(128)} constant(0)
  %start = (f32[4,8]{1,0:T(8,128)}, f32[4,8]{1,0:T(8,128)S(1)}, u32[]{:S(2)}) copy-start(%a)
  %done = f32[4,8]{1,0:T(8,128)S(1)} copy-done(%start)
  %both = (s32[]{:T(128)}, f32[4,8]{1,0:T(8,128)S(1)}) tuple(%zero, %done)
  %loop = (s32[]{:T(128)}, f32[4,8]{1,0:T(8,128)S(1)}) while(%both), condition=%test, body=%body
  ROOT %z = f32[4,8]{1,0:T(8,128)} get-tuple-element(%loop), index=1
}
"""


@pytest.mark.parametrize(
    "array, size",
    [
        (Array("f32", (3, 5)), 60),
        (Array("pred", (7,)), 7),
        (Array("bf16", ()), 2),
        (Array("s4", (3,)), 2),
        # the two fastest axes fill whole tiles
        (Array("f32", (3, 5), "1,0:T(8,128)"), 8 * 128 * 4),
        (Array("bf16", (2, 9, 64), "2,1,0:T(8,128)(2,1)S(1)"), 2 * 16 * 128 * 2),
        # the fastest axis is the first of the layout, not the last of the shape
        (Array("f32", (512, 8, 64), "0,2,1:T(8,128)"), 512 * 8 * 64 * 4),
        (Array("u32", (49,), "0:T(128)"), 128 * 4),
        (Array("token", ()), 0),
    ],
)
def test_bytes_of_an_array(array, size):
    assert array.bytes == size


def test_the_text_of_a_tpu():
    program = parse(TPU)
    start, done = program.instructions["start"], program.instructions["done"]
    assert program.name == "main"
    assert [op.opcode for op in program.instructions.values()][:3] == [
        "parameter",
        "constant",
        "copy-start",
    ]
    assert done.operands == (start,)
    assert start.readers == [done]
    assert not done.arrays[0].in_memory
    assert program.instructions["a"].arrays[0].in_memory
    assert program.root.name == "z"
    body = program.instructions["loop"].called("body")
    assert [operand.name for operand in body.root.operands] == ["i", "y"]
    assert {op.name: times for op, times in program.runs()}["y"] == 7


def test_a_loop_of_jax_runs_as_often_as_it_says():
    def looped(x):
        return jax.lax.scan(lambda carry, _: (jnp.sin(carry @ carry), None), x, None, length=13)[0]

    program = parse(jax.jit(looped).lower(jnp.ones((4, 4))).compile().as_text())
    loops = [op for op in program.instructions.values() if op.opcode == "while"]
    assert [trips(loop) for loop in loops] == [13]
    assert 13 in {times for _, times in program.runs()}
