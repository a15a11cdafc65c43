"""Every attention under what JAX and Flax make of functions: lifts, exports, empty arrays."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from attnjax.attention import Attention, Causal, DenseMask, LatentAttention, MultiHead, Padding
from attnjax.attention.fused import fused
from attnjax.attention.mask import Segments
from attnjax.errors import UserError
from tests import jitted
from tests.attention.combinations import ALIGNS, ATTENTIONS, HEADS, POOLS, with_align

KEYS = {name: jax.random.key(n) for n, name in enumerate(("params", "coin", "sample", "dropout"))}
TABLE = {
    **ATTENTIONS,
    **{f"{name} in heads": MultiHead(head=head, heads=2) for name, head in HEADS.items()},
    **{name: MultiHead(head=with_align(align), heads=2) for name, align in ALIGNS.items()},
    **{name: MultiHead(head=Attention(pool=pool), heads=2) for name, pool in POOLS.items()},
}
every_part = pytest.mark.parametrize("module", TABLE.values(), ids=TABLE.keys())


def shapes_of(module, x):
    """Arrays of parameters, none of which is drawn."""
    made = jax.eval_shape(lambda x: module.init(KEYS, x, mask=Causal(), deterministic=True), x)
    return jax.tree.map(lambda leaf: np.full(leaf.shape, 0.3, leaf.dtype), made)


@every_part
def test_there_may_be_no_key_no_query_and_no_example(module):
    params = shapes_of(module, np.ones((2, 3, 8), np.float32))

    def context(query, key):
        mask = Causal() & Padding(jnp.ones(key.shape[:-1], bool))
        return module.apply(params, query, key, mask=mask, deterministic=True)

    for call, examples, queries, keys in (
        (jax.grad(lambda query, key: context(query, key).sum()), 2, 3, 0),
        (context, 2, 0, 0),
        (context, 0, 3, 3),
    ):
        shapes = ((examples, words, 8) for words in (queries, keys))
        found = jax.eval_shape(call, *(jax.ShapeDtypeStruct(s, "float32") for s in shapes))
        assert found.shape == (examples, queries, 8)


@every_part
def test_exported_for_any_batch_and_for_any_length_or_with_a_sentence(module):
    batch, length = export.symbolic_shape("b, t")
    params = shapes_of(module, np.ones((2, 3, 8), np.float32))
    call = jax.jit(lambda x: module.apply(params, x, mask=Causal(), deterministic=True))
    export.export(call)(jax.ShapeDtypeStruct((batch, 300, 8), jnp.float32))
    try:
        export.export(call)(jax.ShapeDtypeStruct((2, length, 8), jnp.float32))
    except UserError as error:
        assert "the symbol t" in str(error)  # noqa: PT017  # or there is no error


def test_a_kernel_exported_for_any_batch_computes_the_same():
    query = np.random.default_rng(0).normal(size=(3, 2, 300, 4)).astype(np.float32)
    read = jax.jit(
        jax.value_and_grad(lambda x: (fused(x, x, x, Causal(), layout="BNTH") ** 2).sum())
    )
    (batch,) = export.symbolic_shape("b")
    exported = export.export(read)(jax.ShapeDtypeStruct((batch, 2, 300, 4), jnp.float32))
    for found, wanted in zip(exported.call(query), read(query), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@every_part
def test_within_shard_map_by_its_default(module):
    words = 300 if isinstance(module, MultiHead) and type(module.head) is Attention else 70
    x = np.ones((2, words, 8), np.float32)
    params = shapes_of(module, x)

    def context(params, x):
        return module.apply(params, x, mask=Causal(), deterministic=True)

    split, mesh = P("data"), jax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))
    mapped = jax.shard_map(context, mesh=mesh, in_specs=(P(), split), out_specs=split)
    read = partial(jax.eval_shape, jax.grad(lambda *given: mapped(*given).sum(), (0, 1)))
    if "TalkingHeads" in str(module):  # JAX gathers no axis of vmap there
        with pytest.raises(UserError, match=r"TalkingHeads reads all heads.*check_vma=False"):
            read(params, x)
        return
    slopes = read(params, x)
    assert jax.tree.map(jnp.shape, slopes) == jax.tree.map(jnp.shape, (params, x))


def test_on_an_explicit_mesh_contexts_are_divided_as_queries_are():
    """By examples and by heads; fused by tiles, and heads with their maps by their weights."""
    mesh = jax.make_mesh((2, 2), ("data", "heads"), axis_types=(AxisType.Explicit,) * 2)
    x = np.random.default_rng(0).normal(size=(2, 300, 4, 8)).astype(np.float32)
    heads = MultiHead(heads=2)
    params = jitted.drawn(heads, x[:, :5, 0], deterministic=True)

    def read(x, words):
        context = fused(x, x, x, Causal(), layout="BTNH")
        return context, heads.apply(params, words, mask=Causal(), deterministic=True)

    def with_slopes(x, words):
        contexts, pull = jax.vjp(read, x, words)
        return contexts, pull(jax.tree.map(lambda x: 2 * x, contexts))

    expected = jax.jit(with_slopes)(x, x[:, :5, 0])
    with jax.set_mesh(mesh):
        divided = jax.device_put(x, NamedSharding(mesh, P("data", None, "heads")))
        words = jax.device_put(x[:, :5, 0], NamedSharding(mesh, P("data")))
        found = jax.jit(with_slopes)(divided, words)
    for one, other in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    assert [x.sharding.spec for x in found[0]] == [
        P("data", None, "heads", None),
        P("data", None, None),
    ]


class Repeated(nn.Module):
    """A layer that `nn.scan` reads twice."""

    @nn.compact
    def __call__(self, x, _):
        return MultiHead(Attention(dropout=0.5), heads=2, deterministic=True)(x), None


def test_flax_lifts_heads_as_it_does_its_own():
    x = np.random.default_rng(0).normal(size=(3, 2, 5, 8)).astype(np.float32)
    own = {"variable_axes": {"params": 0}, "split_rngs": {"params": True, "dropout": True}}
    plain = MultiHead(heads=2)
    dropped = {"head": Attention(dropout=0.5), "heads": 2, "deterministic": True}

    def compute(x):
        key = jax.random.key(1)
        params = plain.init(key, x[0])
        wanted = plain.apply(params, x[0], deterministic=True)
        lifted = [nn.remat(MultiHead)(heads=2), nn.remat(MultiHead)(**dropped)]
        lifted += [nn.jit(MultiHead)(heads=2), MultiHead(**dropped)]
        found = [module.apply(params, x[0]) for module in lifted]
        found.append(lifted[0].apply(params, x[0], deterministic=True))
        stacked = nn.vmap(MultiHead, in_axes=0, out_axes=0, axis_size=3, **own)(**dropped)
        scanned = nn.scan(Repeated, length=2, **own)()
        one = scanned.init(key, x[0], None)
        (once, _), repeated = scanned.apply(one, x[0], None), x[0]
        for n in range(2):
            layer = {"params": jax.tree.map(lambda leaf, n=n: leaf[n], one["params"])}
            repeated, _ = Repeated().apply(layer, repeated, None)
        many = stacked.init(key, x)
        first = {"params": jax.tree.map(lambda leaf: leaf[0], many["params"])}
        pairs = [(context, wanted) for context in found]
        pairs.append((stacked.apply(many, x)[0], plain.apply(first, x[0])))
        return [*pairs, (once, repeated)]

    for found, wanted in jax.jit(compute)(x):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


def test_with_dropout_a_call_or_the_field_says_whether_it_is_left_out():
    x, head = np.ones((1, 3, 8), np.float32), Attention(dropout=0.5)
    for module, given, sentence in (
        (MultiHead(head, heads=2), {}, "wants deterministic=True or False"),
        (LatentAttention(head, heads=2), {}, "got nothing"),
        (nn.remat(MultiHead)(head, heads=2), {"deterministic": True}, "got a traced value"),
        (MultiHead(heads=2, deterministic=True), {"deterministic": True}, "given twice"),
    ):
        with pytest.raises(UserError, match=sentence):
            jax.eval_shape(lambda x, module=module, given=given: module.init(KEYS, x, **given), x)


def test_a_mask_that_does_not_fit_is_named():
    x = np.ones((2, 3, 8), np.float32)
    heads = MultiHead(heads=2)

    def context(mask):
        return heads.init_with_output(KEYS, x, mask=mask)[0]

    for mask, sentence in (
        (lambda: Padding(np.ones((2, 4), bool)), r"Padding wants an array \[..., S\]"),
        (lambda: Padding(np.ones((3, 3), bool)), r"got \[3, 3\]"),
        (lambda: Padding(np.array([2, 3])), r"Padding.of\(lengths, S\)"),
        (lambda: Padding([[True], [True, False]]), "lists of one length"),
        (lambda: Segments(np.zeros((2, 4), int)), "Segments wants"),
        (lambda: np.ones((2, 4), bool), r"is it Padding\(array\)"),
        (lambda: DenseMask(np.ones((2, 3, 2), bool)), r"\[..., T, S\]"),
    ):
        with pytest.raises(UserError, match=sentence):
            jax.eval_shape(lambda mask=mask: context(mask()))

    with pytest.raises(UserError, match="has no option sow_weights"):
        heads.init(KEYS, x, sow_weights=True)

    @jax.jit
    def compute():
        present = [[True, True, False], [True, False, False]]
        wanted = context(Padding(np.array(present)))
        sentence = np.array([[0, 0, 1], [0, 1, 1]])
        both = context(Segments(sentence, sentence)), context(Segments(sentence))
        lists = context(Padding(present)), context(Padding.of(jnp.array([2, 1]), 3))
        return [(lists[0], wanted), (lists[1], wanted), both]

    for found, wanted in compute():
        np.testing.assert_array_equal(found, wanted)
