"""What combines with what: every pair of parts, and docs/combinations.md, which says it in tables.

python -m tests.attention.combinations > docs/combinations.md
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import attnjax.attention as package
from attnjax.attention import (
    Align,
    Attention,
    AttentionBase,
    Bias,
    Boxcar,
    Bucketed,
    Causal,
    DecayedState,
    DeltaRule,
    DenseMask,
    DifferentialHeads,
    Epanechnikov,
    ExcludeSelf,
    FastWeights,
    LastState,
    LatentAttention,
    LinearAttention,
    LocalMonotonic,
    LocalPredictive,
    Mask,
    MultiHead,
    Normalize,
    Padding,
    Pool,
    Prefix,
    RelativeSum,
    ScaledDot,
    Score,
    Segments,
    SelectiveHeads,
    SelfAttentive,
    SignedLinearAttention,
    SoftCap,
    Softmax,
    SquaredExponential,
    TopK,
    Triangular,
    Window,
)
from attnjax.attention.fused import Inputs
from attnjax.attention.fused.dispatch import KERNELS
from attnjax.errors import UserError

B, T, D = 2, 4, 8


def parts(base: type, **narrow: Any) -> dict[str, Any]:
    """An instance of every part of a kind that the package exports, by name, or a narrow one."""
    exported = [item for name, item in vars(package).items() if not name.startswith("_")]
    return {
        kind.__name__: narrow.get(kind.__name__) or kind()
        for kind in exported
        if inspect.isclass(kind) and issubclass(kind, base) and not inspect.isabstract(kind)
    }


SCORES = parts(
    Score,
    Boxcar=Boxcar(3.0),
    Bucketed=Bucketed(buckets=4, most=3),
    Epanechnikov=Epanechnikov(4.0),
    SoftCap=SoftCap(cap=1.5),
    Triangular=Triangular(4.0),
)
ALIGNS = parts(
    Align,
    Softmax=Softmax(temperature=0.5),
    TopK=TopK(k=2),
    LocalMonotonic=LocalMonotonic(reach=1),
    LocalPredictive=LocalPredictive(reach=2),
)
POOLS = parts(Pool, RelativeSum=RelativeSum(max_distance=2))
BIASES = parts(Bias)
AROUND = {name: score for name, score in SCORES.items() if hasattr(score, "score")}
ALIGNS_AROUND = {name: align for name, align in ALIGNS.items() if hasattr(align, "align")}
SEGMENTS = np.array([[0, 0, 1, 1], [0, 0, 0, 0]])
# no query is left without a key
MASKS: dict[str, Mask] = {
    "Padding": Padding(np.array([[True] * T, [True, True, True, False]])),
    "Causal": Causal(),
    "Window": Window(1, 0),
    "Prefix": Prefix(2),
    "Or": Window(1, 0) | Prefix(1),
    "Segments": Segments(SEGMENTS, SEGMENTS),
    "ExcludeSelf": ExcludeSelf(),
    "DenseMask": DenseMask(np.array([np.eye(T), np.tri(T)]) > 0),
}
ATTENTIONS: dict[str, AttentionBase] = {
    "Attention": Attention(),
    "LinearAttention": LinearAttention(),
    "LastState": LastState(),
    "SelfAttentive": SelfAttentive(hops=2, width=3),
    "DecayedState": DecayedState(),
    "DeltaRule": DeltaRule(),
    "FastWeights": FastWeights(),
    "SignedLinearAttention": SignedLinearAttention(),
    "LatentAttention": LatentAttention(heads=2, latent_width=3, rotary_width=2),
    "DifferentialHeads": DifferentialHeads(heads=2),
    "SelectiveHeads": SelectiveHeads(heads=2),
}
ONE_HEAD = (
    "LinearAttention",
    "LastState",
    "SelfAttentive",
    "DecayedState",
    "DeltaRule",
    "FastWeights",
    "SignedLinearAttention",
)
HEADS = {
    **{name: Attention(score=score) for name, score in SCORES.items()},
    **{name: ATTENTIONS[name] for name in ONE_HEAD},
    **{name: Attention(bias=bias) for name, bias in BIASES.items()},
}


def with_align(align: Align, **others: Any) -> Attention:
    """An attention with an align; `Normalize` has a kernel before it."""
    score = SquaredExponential() if isinstance(align, Normalize) else ScaledDot()
    return Attention(score=score, align=align, **others)


class Case(NamedTuple):
    """An attention and the mask of its call."""

    attention: AttentionBase
    mask: Mask | None = None


class Table(NamedTuple):
    """Pairs of parts.

    Attributes:
        title: what is paired.
        note: what the reader should know.
        rows: parts by name.
        columns: likewise.
        refusal: from a row and a column to the sentence that refuses them; None: they combine.
    """

    title: str
    note: str
    rows: dict[str, Any]
    columns: dict[str, Any]
    refusal: Callable[[Any, Any], str | None]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The names of every row and column."""
        return ((row, column) for row in self.rows for column in self.columns)

    def refused(self, row: str, column: str) -> str | None:
        """The sentence that refuses a pair; None: it combines."""
        return self.refusal(self.rows[row], self.columns[column])


def refused(case: Case) -> str | None:
    """The sentence that refuses a case; nothing is computed."""
    x = jax.ShapeDtypeStruct((B, T, D), jnp.float32)

    def begin(x: jax.Array) -> Any:
        return case.attention.init(jax.random.key(0), x, mask=case.mask, deterministic=True)

    try:
        jax.eval_shape(begin, x)
    except UserError as error:
        return str(error)
    return None


def kernel_refuses(mask: Mask, name: str) -> str | None:
    """The sentence by which a fused kernel of one platform refuses a mask."""
    dtype = {"cudnn": jnp.bfloat16, "splash": jnp.float32}[name]
    x = jnp.zeros((B, T, D), dtype)
    reason = KERNELS[name].refuses(Inputs(x, x, x, mask))
    return reason and f"implementation {name} cannot compute {reason}"


def grouped(head: AttentionBase) -> MultiHead:
    """Two heads of queries that share one head of keys."""
    return MultiHead(head=head, heads=2, key_heads=1)


def around(outer: Any, inner: Score) -> Case:
    """A score around another."""
    return Case(Attention(score=outer.clone(score=inner)))


def align_around(outer: Any, inner: Align) -> Attention:
    """Return an attention whose align stands around another."""
    return with_align(inner).clone(align=outer.clone(align=inner))


def latent(align: Align, rank: int = 2) -> LatentAttention:
    """Latent heads with an align."""
    head, widths = Attention(align=align), {"key_width": 2, "rotary_width": 2, "value_width": 3}
    return LatentAttention(head=head, heads=2, latent_width=rank, **widths)


FUSED = {
    **{name: Attention(score=score) for name, score in SCORES.items()},
    **{name: with_align(align) for name, align in ALIGNS.items() if name != "Normalize"},
    **{name: Attention(pool=pool) for name, pool in POOLS.items()},
    **{name: Attention(bias=bias) for name, bias in BIASES.items()},
}
TABLES = {
    "aligns": Table(
        "Scores and aligns",
        "`Hard` is trained by the objective `Reinforce` only; `HardMax` trains no score.",
        SCORES,
        ALIGNS,
        lambda score, align: refused(Case(Attention(score=score, align=align))),
    ),
    "pools": Table(
        "Aligns and pools",
        "The score before `Normalize` is a kernel.",
        ALIGNS,
        POOLS,
        lambda align, pool: refused(Case(with_align(align, pool=pool))),
    ),
    "around": Table(
        "Scores around scores",
        "The row's score stands around the column's.",
        AROUND,
        SCORES,
        lambda outer, inner: refused(around(outer, inner)),
    ),
    "aligns around": Table(
        "Aligns around aligns",
        "The row's align stands around the column's. The score before `Normalize` is a kernel.",
        ALIGNS_AROUND,
        ALIGNS,
        lambda outer, inner: refused(Case(align_around(outer, inner))),
    ),
    "latent": Table(
        "Aligns and latent heads",
        "`LatentAttention(head=Attention(align=...))`, both where keys are those of each head and "
        "where, as in a search, they are latent vectors. Parameters, such as the sink of `Sink` or "
        "the scale of `LearnedScale`, are each head's; `HardAlibi` reads the head's number, and "
        "`TalkingHeads` mix. `Normalize` wants a kernel, which is no score of latent heads.",
        {name: align for name, align in ALIGNS.items() if name != "Normalize"},
        {"LatentAttention": None},
        lambda align, _: refused(Case(latent(align))),
    ),
    "biases": Table(
        "Aligns and biases",
        "`Attention(align=..., bias=...)`. The score before `Normalize` is a kernel.",
        ALIGNS,
        BIASES,
        lambda align, bias: refused(Case(with_align(align, bias=bias))),
    ),
    "fused": Table(
        "Parts and fused kernels",
        "Each part beside the default ones. Under implementation `auto` what a kernel cannot "
        "compute is dense. Dropout of weights needs the weights too, while training. On their "
        "platforms splash computes what blockwise does, but no bias, and cudnn no cap and no sink "
        "either. `Forgetting` is computed under the masks `Padding`, or `Causal` with `Padding`, "
        "`Window` and `Segments`; under others it needs the weights, as after a cap. After "
        "the cap of `SoftCap` no kernel computes a `LearnedScale`, or an `Alibi` or `Bucketed` "
        "around it.",
        FUSED,
        {"dense": "dense", "blockwise": "blockwise"},
        lambda attention, name: refused(Case(attention.clone(implementation=name))),
    ),
    "kernels": Table(
        "Masks and fused kernels",
        "Under implementation `auto` a mask that a platform's kernel refuses is read by blockwise. "
        "A mask of your own needs the method `block` for blockwise.",
        MASKS,
        {"blockwise": "blockwise", "cudnn": "cudnn", "splash": "splash"},
        lambda mask, name: (
            kernel_refuses(mask, name)
            if KERNELS[name].platform
            else refused(Case(Attention(implementation=name), mask))
        ),
    ),
    "masks": Table(
        "Masks and attentions",
        "Masks are given in the call, and joined by `&`. `MultiHead` takes what its head takes.",
        MASKS,
        ATTENTIONS,
        lambda mask, attention: refused(Case(attention, mask)),
    ),
    "own": Table(
        "Masks as `Attention.mask`",
        "A mask of the configuration holds no arrays.",
        MASKS,
        {"Attention.mask": None},
        lambda mask, _: refused(Case(Attention(mask=mask))),
    ),
    "key_heads": Table(
        "Heads that share keys",
        "`MultiHead(head=Attention(score=...), key_heads=1)`, or with another attention as `head`.",
        HEADS,
        {"key_heads": None},
        lambda head, _: refused(Case(grouped(head))),
    ),
}


def page() -> str:
    """The text of docs/combinations.md."""
    lines = [
        "# What combines with what",
        "",
        "✓ combines, and equals the composition of the parts. – is refused, before anything is "
        "trained, in the sentence below the table. Combinations of more than two parts are allowed "
        "if every pair is. `python -m tests.attention.combinations > docs/combinations.md` writes "
        "this page, and a test tries every cell of it.",
    ]
    for table in TABLES.values():
        lines += ["", f"## {table.title}", "", table.note, ""]
        lines += [
            "| | " + " | ".join(table.columns) + " |",
            "|---" * (len(table.columns) + 1) + "|",
        ]
        sentences: dict[str, None] = {}
        for row in table.rows:
            found = [table.refused(row, column) for column in table.columns]
            # one sentence for all parts of a kind
            sentences |= {
                one.replace(row, "...", 1).replace(f"got {column}", "got ..."): None
                for one, column in zip(found, table.columns, strict=True)
                if one
            }
            cells = " | ".join("–" if one else "✓" for one in found)
            lines.append(f"| {row} | {cells} |")
        if sentences:
            lines += ["", *(f"- {sentence}" for sentence in sentences)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
