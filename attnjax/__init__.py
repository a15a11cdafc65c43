"""Attention mechanisms as pure functions and pure Flax modules, and the papers' ablations of them.

Glossary. Shapes in docstrings and einsum strings use these letters, and only with these meanings:

    B   batch: sentences (or images, sets) at a time
    T   query length: positions that attend
    S   key length: positions that are attended to
    H   heads
    D   model width
    K   key width, of one head (the d_k of Vaswani et al. 2017)
    V   value width, of one head; on logits of a language model, the number of symbols
    F   feed-forward width

Arrays are `[..., T, K]`, heads a leading axis: `[B, H, T, K]`. A mask is True where a query may
attend. Importing this package starts nothing: no device, no network.

What a notebook needs stands here, too, and is imported when it is used:

    run = attnjax.open("runs/luong2015/dot/seed-10")     # or several, which act as one
    run.translate(["3. März 2021"])
    attnjax.show(*run.attention("3. März 2021")["writer.attention"][1:])
    attnjax.run("luong2015", "--training.steps 100", seeds=1)
    attnjax.results.rows("runs/luong2015")              # what pandas.DataFrame takes
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnjax import results as results
    from attnjax.reporting.notebook import show as show
    from attnjax.sweeps.run import run as run
    from attnjax.trained.open_run import open as open

_MODULES = {
    "open": "trained.open_run",
    "results": "results",
    "run": "sweeps.run",
    "show": "reporting.notebook",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
