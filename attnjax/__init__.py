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

A notebook needs no other import. The rooms `attention`, `nn`, `models`, `data`, `decoding`,
`evaluation`, `experiment` and `training` are imported when they are used, and so are the functions:

    run = attnjax.open("runs/luong2015/dot/seed-10")     # or several, which act as one
    run.translate(["3. März 2021"])
    attnjax.show(*run.attention("3. März 2021")["writer.attention"][1:])
    attnjax.compare("runs/luong2015/dot/seed-10", "runs/luong2015/general/seed-10")
    base = attnjax.load("luong2015").ablation.base      # a shipped experiment, or a file of yours
    attnjax.run("luong2015", "--training.steps 100", seeds=1)
    attnjax.results.rows("runs/luong2015")              # what pandas.DataFrame takes
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnjax.config.moved_modules import find_moved_modules

if TYPE_CHECKING:
    from pathlib import Path

    from attnjax import (
        attention as attention,
        data as data,
        decoding as decoding,
        evaluation as evaluation,
        experiment as experiment,
        models as models,
        nn as nn,
        training as training,
    )
    from attnjax.experiment.load import ExperimentFile
    from attnjax.lab import results as results
    from attnjax.lab.reporting.notebook import show as show
    from attnjax.lab.sweeps.run import run as run
    from attnjax.lab.trained.comparison import compare as compare
    from attnjax.lab.trained.open_run import open as open

__version__ = "0.2.0"

_ROOMS = {
    "attention": "attention",
    "data": "data",
    "decoding": "decoding",
    "evaluation": "evaluation",
    "experiment": "experiment",
    "models": "models",
    "nn": "nn",
    "results": "lab.results",
    "training": "training",
}
_FUNCTIONS = {
    "compare": "lab.trained.comparison",
    "open": "lab.trained.open_run",
    "run": "lab.sweeps.run",
    "show": "lab.reporting.notebook",
}


find_moved_modules()


def load(experiment: "str | Path") -> "ExperimentFile":
    """Load an experiment: the name of a shipped one, or the path of a file.

    Raises:
        UserError: no experiment has the name, or the file cannot be loaded.
    """
    from attnjax.experiment.load import load
    from attnjax.lab.runs.catalog import find

    return load(find(str(experiment)))


if not TYPE_CHECKING:  # a type checker knows the names above, and refuses all others

    def __getattr__(name: str) -> Any:
        if name in _FUNCTIONS:
            return getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
        if name in _ROOMS:
            return import_module(f"{__name__}.{_ROOMS[name]}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_ROOMS, *_FUNCTIONS, "load", "__version__"])
