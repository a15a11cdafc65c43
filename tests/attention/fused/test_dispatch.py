"""Fused attention: which kernel is chosen, what each refuses, and that results are the same."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import Softmax, softmax
from attnjax.attention.attention import Attention
from attnjax.attention.fused import dispatch
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn
from attnjax.attention.fused.dispatch import FUSED_FROM, fused
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.tiles import ENTRIES
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import (
    Causal,
    DenseMask,
    ExcludeSelf,
    Mask,
    Padding,
    Segments,
    Window,
)
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Dot, General, WidthScaledDot, dot
from attnjax.errors import UserError
from attnjax.nn.platform import compiled_for
from tests import jitted

K = 4


def shapes(jaxpr):
    """Of every array in a program, and in those inside it."""
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inside in jax.tree.leaves(list(equation.params.values())):
            inside = getattr(inside, "jaxpr", inside)
            if hasattr(inside, "eqns"):
                yield from shapes(inside)


@pytest.mark.parametrize("mask", [Causal(), Causal() & Segments(*[jnp.zeros((1, 4096), int)] * 2)])
def test_memory_is_linear_in_length(mask):
    x = jax.ShapeDtypeStruct((1, 4096, K), jnp.float32)
    read = jax.grad(lambda q, k, v: fused(q, k, v, mask).sum(), (0, 1, 2))
    largest = max(map(np.prod, shapes(jax.make_jaxpr(read)(x, x, x).jaxpr)))
    assert largest <= 512 * 512


def test_vmap_reads_the_tiles_of_a_group_at_a_time():
    """64 heads, as attentions with parameters of their own are lifted over them."""
    x = jax.ShapeDtypeStruct((64, 1024, K), jnp.float32)
    read = jax.grad(lambda q, k, v: jax.vmap(fused)(q, k, v).sum(), (0, 1, 2))
    largest = max(map(np.prod, shapes(jax.make_jaxpr(read)(x, x, x).jaxpr)))
    assert largest <= ENTRIES < 64 * 256 * 256


def test_65536_words_fit_in_4_gigabytes():
    """As XLA allots them: 8 heads of 64, gradients included; the weights would take 128 GiB."""
    x = jax.ShapeDtypeStruct((8, 65_536, 64), jnp.float32)
    read = jax.grad(lambda q, k, v: fused(q, k, v, Causal()).sum(), (0, 1, 2))
    allotted = jax.jit(read).lower(x, x, x).compile().memory_analysis()
    parts = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    assert 6 * 4 * np.prod(x.shape) < sum(getattr(allotted, part) for part in parts) < 4 * 10**9


def with_gradients(attend):
    def read(given):
        context = attend(*given)
        return (context**2).sum(), context

    return jax.jit(jax.value_and_grad(read, has_aux=True))


class Stranger(Mask):
    """A mask without the method `block`."""

    def dense(self, positions):
        return positions.key[..., None, :] <= positions.query[..., :, None]


def test_a_rule_that_cannot_be_computed_is_named():
    query = key = value = jnp.zeros((2, 4, K))
    with pytest.raises(UserError, match="the mask Stranger has no method block"):
        fused(query, key, value, Causal() & Stranger())
    half = [jnp.zeros((2, 16, 8), jnp.bfloat16)] * 3
    refused = {
        "Segments": Segments(jnp.zeros((1, 16), int), jnp.zeros((1, 16), int)),
        "ExcludeSelf": ExcludeSelf(),
        "Causal and Padding together": Causal() & Padding(jnp.ones((1, 16), bool)),
        "Window with keys after the query": Window(3, 2),
    }
    for name, mask in refused.items():
        with pytest.raises(UserError, match=f"cudnn cannot compute the masks? {name}"):
            fused(*half, mask, implementation="cudnn")
    with pytest.raises(UserError, match="other than 0, 1"):
        fused(*half, Causal(), positions=Positions(jnp.zeros((1, 16), int)), implementation="cudnn")
    wider = [*half[:2], jnp.zeros((2, 16, 16), jnp.bfloat16)]
    with pytest.raises(UserError, match="values of width 16 where keys have 8"):
        fused(*wider, implementation="cudnn")
    with pytest.raises(UserError, match="keys or values that several examples share"):
        fused(half[0], half[1][:1], half[2], implementation="cudnn")
    mixed = [half[0], half[1].astype(jnp.float16), half[2]]
    with pytest.raises(UserError, match="the dtypes bfloat16, float16: all must be"):
        fused(*mixed, implementation="cudnn")
    with pytest.raises(UserError, match="the dtypes float32"):
        fused(query, key, value, implementation="cudnn")
    with pytest.raises(UserError, match="a bias"):
        fused(*half, bias=jnp.subtract, implementation="cudnn")


@pytest.mark.parametrize(
    "mask",
    [
        None,
        Causal(),
        Window(3, 2) & Causal(),
        Window(3, 0),
        Window(np.int64(3), 2) & Window(5, 1) & Causal(),
        Padding(np.array([[True] * 16, [False] * 16])),
        Padding(np.array([[True, False] * 8, [False, True, True, False] * 4])),
    ],
    ids=str,
)
def test_what_cudnn_is_told_means_the_same(mask):
    draw = np.random.default_rng(0).normal
    given = tuple(jnp.asarray(draw(size=(2, 16, 8)), jnp.bfloat16) for _ in range(3))
    found, expected = (
        with_gradients(lambda *x, run=run: run(Inputs(*x, mask, scale=0.5)).astype(jnp.float32))(
            given
        )
        for run in (
            partial(cudnn, implementation="xla"),
            blockwise,
        )
    )
    wide = [jax.tree.map(lambda x: np.asarray(x, np.float32), x) for x in (found, expected)]
    chex.assert_trees_all_close(wide[0][0][1], wide[1][0][1], rtol=0, atol=0.05)
    chex.assert_trees_all_close(wide[0][1], wide[1][1], rtol=0, atol=0.1)


@pytest.mark.parametrize(
    "mask",
    [None, Causal(), Padding(np.arange(16)[None, None, None] < np.array([[[[5]]], [[[0]]]]))],
    ids=str,
)
def test_cudnn_reads_heads_that_share_keys(mask):
    draw = np.random.default_rng(0).normal
    arrays = [jnp.asarray(draw(size=(2, 2, heads, 16, 8)), jnp.bfloat16) for heads in (3, 1, 1)]
    inputs = Inputs(*arrays, mask, scale=0.5)
    assert dispatch.KERNELS["cudnn"].refuses(inputs) is None
    runs = partial(cudnn, implementation="xla"), blockwise
    both = jax.jit(lambda *x: [run(Inputs(*x, mask, scale=0.5)) for run in runs])(*arrays)
    found, expected = (np.asarray(context, np.float32) for context in both)
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.05)
    assert "several examples share" in str(dispatch.KERNELS["splash"].refuses(inputs))


@pytest.mark.parametrize("score", [Dot(), WidthScaledDot()])
def test_a_module_forms_its_weights_if_they_are_asked_for(score):
    """The same parameters and results either way; the largest array tells which kernel it was."""
    D, long = 8, 2 * FUSED_FROM["cpu"]
    draw = np.random.default_rng(0).normal
    x = np.float32(draw(size=(1, long, D)))
    mask = Padding(np.arange(long)[None] < long - 9) & Causal()
    module = MultiHead(head=Attention(score=score), heads=2)
    forced = MultiHead(head=Attention(score=score, implementation="blockwise"), heads=2)
    initial = jitted.init(module, jax.random.key(0), x, x, x, mask, deterministic=True)
    parameters = {"params": initial["params"]}

    def read(module, x, **asked):
        return jitted.apply(module, parameters, x, x, x, mask, deterministic=True, **asked)

    context, seen = read(module, x, mutable=["attention"])
    (weights,) = seen["attention"]["head"]["weights"]
    assert weights.shape == (1, 2, long, long)
    for module_ in (module, forced):
        np.testing.assert_allclose(read(module_, x), context, atol=1e-5)

    def forms(module, x, **asked):
        program = jax.make_jaxpr(lambda x: read(module, x, **asked))(x).jaxpr
        return any(shape[-2:] == (x.shape[1],) * 2 for shape in shapes(program))

    mask = Causal()
    assert forms(module, x, mutable=["attention"])
    assert forms(MultiHead(head=Attention(score=score, implementation="dense"), heads=2), x)
    assert not forms(module, x)
    assert forms(module, x[:, : FUSED_FROM["cpu"] - 1])
    # One head alone is fused too.
    one = Attention(score=score)
    alone = jax.make_jaxpr(lambda x: one.apply({}, x, x, x, mask, deterministic=True))(x)
    assert (1, long, long) not in set(shapes(alone.jaxpr))


def test_heads_know_where_packed_words_stand():
    """Two sentences in a row are each alone, under a mask that knows positions only."""
    x = np.float32(np.random.default_rng(0).normal(size=(1, 7, 8)))
    places, rows = np.array([[0, 1, 2, 0, 1, 2, 3]]), np.array([[0, 0, 0, 1, 1, 1, 1]])
    module = MultiHead(head=Attention(implementation="blockwise"), heads=2)
    window = Causal() & Window(1, 0)
    ahead = places[:, None, :] - (places[:, :, None] + 1)
    seen = DenseMask((ahead >= -1) & (ahead <= 0))

    @jax.jit
    def four(x):
        initial = module.init(jax.random.key(0), x, x, x, deterministic=True, mutable=["params"])

        def read(x, mask, **positions):
            return module.apply(initial, x, x, x, mask, **positions, deterministic=True)

        packed = read(x, window & Segments(rows, rows), positions=Positions(places, places))
        alone = jnp.concatenate([read(part, window) for part in (x[:, :3], x[:, 3:])], 1)
        moved = read(x, window, positions=Positions(places + 1, places))
        return packed, alone, moved, read(x, seen)

    packed, alone, moved, expected = jax.device_get(four(x))
    np.testing.assert_allclose(packed, alone, atol=1e-6)
    # where a query does not stand where its number says, the positions count
    np.testing.assert_allclose(moved, expected, atol=1e-6)


def test_what_needs_the_weights_is_named():
    x = jnp.zeros((1, 4, 2))
    for part, name in (
        ({"score": General()}, "the score General"),
        ({"dropout": 0.1}, "dropout of weights"),
    ):
        attention = Attention(**part, implementation="blockwise")
        keys = {"params": jax.random.key(0), "dropout": jax.random.key(0)}
        with pytest.raises(UserError, match=rf"{name} needs the \[T, S\] weights"):
            attention.init(keys, x, x, x, deterministic=False)
    assert "below a length of 256 (cpu), 4,096 (cuda)" in Attention().describe()
    assert "for dropout of weights" in Attention(dropout=0.1).describe()
    assert Attention(implementation="blockwise").describe().startswith("blockwise")


@pytest.mark.parametrize("implementation", ["cudnn", "splash"])
def test_a_kernel_of_one_platform_is_for_training_there(implementation):
    """First parameters, evaluation and search take what there is, and are the same."""
    draw = np.random.default_rng(0).normal
    x = draw(size=(1, 16, 8)).astype(jnp.bfloat16)
    forced, free = (
        MultiHead(head=Attention(implementation=name), heads=1) for name in (implementation, "auto")
    )
    first = [
        jax.eval_shape(
            lambda module=module: module.init(
                jax.random.key(0), x, x, x, Causal(), deterministic=False, mutable=["params"]
            )
        )
        for module in (forced, free)
    ]
    chex.assert_trees_all_equal_shapes(*first)
    initial = jitted.init(free, jax.random.key(0), x, x, x, deterministic=True)["params"]
    parameters = {"params": jax.tree.map(lambda p: p.astype(x.dtype), initial)}
    found = [
        jitted.apply(module, parameters, x, x, x, ExcludeSelf(), deterministic=True)
        for module in (forced, free)
    ]
    np.testing.assert_array_equal(*found)
    wanted = {"cudnn": "cuda", "splash": "tpu"}[implementation]
    with pytest.raises(
        UserError, match=f"{implementation} needs the platform {wanted}; the program is for cpu"
    ):
        forced.apply(parameters, x, x, x, Causal(), deterministic=False)


def test_the_scale_is_that_of_jax():
    draw = np.random.default_rng(0).normal
    inputs = draw(size=(3, 2, 3, 5, K)).astype(np.float32)
    theirs = jax.jit(jax.nn.dot_product_attention)(*np.swapaxes(inputs, 2, 3))
    ours = jax.jit(partial(fused, layout="BNTH"))(*inputs)
    np.testing.assert_allclose(ours, np.swapaxes(theirs, 1, 2), atol=1e-6)


class Doubled(Dot):
    """A subclass that computes logits of its own."""

    def __call__(self, query, key, positions):
        return 2 * dot(query, key)


class Halved(Softmax):
    """A subclass that computes weights of its own."""

    def __call__(self, logits, mask, context):
        return softmax(logits, mask) / 2


def test_a_subclass_does_not_inherit_what_its_parent_declares():
    assert "for the score Doubled" in Attention(score=Doubled()).describe()
    assert "for the align Halved" in Attention(align=Halved()).describe()
    x = np.ones((1, 2 * FUSED_FROM["cpu"], K))
    found = jitted.apply(Attention(align=Halved()), {}, x, x, x, deterministic=True)
    np.testing.assert_allclose(found, x / 2, atol=1e-5)


def context(x):
    return Attention().apply({}, x, x, x, Causal(), deterministic=True)


def scanned(x):
    return jax.lax.scan(lambda carry, _: (context(carry), None), x, None, length=2)[0]


@pytest.mark.parametrize(
    "run, shape",
    [
        (context, (1,)),
        (jax.grad(lambda x: context(x).sum()), (1,)),
        (jax.vmap(context), (2, 1)),
        (scanned, (1,)),
    ],
    ids=["alone", "grad", "vmap", "scan"],
)
def test_the_platform_that_is_compiled_for_decides(run, shape, monkeypatch):
    """One traced program: at this length a CPU gets blockwise, a GPU the weights."""
    monkeypatch.setattr(dispatch, "platforms", lambda: ("cpu", "cuda"))
    x = jax.ShapeDtypeStruct((*shape, FUSED_FROM["cpu"], K), jnp.float32)
    traced = jax.jit(run).trace(x)
    on_cpu, on_gpu = (
        traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda")
    )
    # Of the two only blockwise has a barrier.
    assert "stablehlo.optimization_barrier" in on_cpu
    assert "stablehlo.optimization_barrier" not in on_gpu


def test_a_platform_that_is_known_decides_while_the_program_is_traced():
    """A laptop traces the program of a TPU with the TPU's kernel, and no branch."""
    x = jax.ShapeDtypeStruct((1, FUSED_FROM["tpu"], K), jnp.float32)

    def traced(platform, function):
        def known(x):
            with compiled_for(platform):
                return function(x)

        return str(jax.make_jaxpr(known)(x))

    def kernel(x):
        return Attention().apply({}, x, x, x, Causal(), deterministic=False)

    assert "pallas_call" in traced("tpu", kernel)
    assert "pallas_call" not in traced("cpu", kernel)
    assert "platform_index" not in traced("tpu", kernel)
