"""Modules that have moved, under their former names: files and runs of users import them so.

from attnjax.attention.multihead import MultiHead    # of attnjax.attention.heads.multihead
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "attnjax.attention.adaptive_temperature": "attnjax.attention.align.base",
    "attnjax.attention.bias": "attnjax.attention.score.bias",
    "attnjax.attention.blocks": "attnjax.attention.position",
    "attnjax.attention.bucketed_score": "attnjax.attention.score.bucketed",
    "attnjax.attention.capped_score": "attnjax.attention.score.capped",
    "attnjax.attention.decay": "attnjax.attention.state.decay",
    "attnjax.attention.differential": "attnjax.attention.heads.differential",
    "attnjax.attention.fast_weights": "attnjax.attention.state.recurrent",
    "attnjax.attention.feature_map": "attnjax.attention.state.feature_map",
    "attnjax.attention.gate": "attnjax.attention.heads.gate",
    "attnjax.attention.hard_alibi": "attnjax.attention.align.around",
    "attnjax.attention.hard_align": "attnjax.attention.align.one_hot",
    "attnjax.attention.hidden": "attnjax.attention.masked",
    "attnjax.attention.kernel_score": "attnjax.attention.score.kernel",
    "attnjax.attention.key_rules": "attnjax.attention.state.key_rules",
    "attnjax.attention.last_state": "attnjax.attention.heads.last_state",
    "attnjax.attention.latent": "attnjax.attention.heads.latent",
    "attnjax.attention.linear": "attnjax.attention.state.linear",
    "attnjax.attention.local_align": "attnjax.attention.align.local",
    "attnjax.attention.mask_check": "attnjax.attention.masked",
    "attnjax.attention.multihead": "attnjax.attention.heads.multihead",
    "attnjax.attention.open_align": "attnjax.attention.align.open",
    "attnjax.attention.position_score": "attnjax.attention.score.positional",
    "attnjax.attention.recurrence": "attnjax.attention.state.chunked",
    "attnjax.attention.recurrent": "attnjax.attention.state.recurrent",
    "attnjax.attention.rotary_scaling": "attnjax.attention.score.rotary_scaling",
    "attnjax.attention.selective": "attnjax.attention.heads.selective",
    "attnjax.attention.self_attentive": "attnjax.attention.heads.self_attentive",
    "attnjax.attention.signed_linear": "attnjax.attention.state.recurrent",
    "attnjax.attention.sparse_align": "attnjax.attention.align.sparse",
    "attnjax.attention.talking_heads": "attnjax.attention.align.around",
    "attnjax.checks": "attnjax.lab.checks",
    "attnjax.results": "attnjax.lab.results",
}
"""The name of a module today by that which it had; modules below it move with it."""


class MovedModules:
    """Finds a module by a former name, and gives the module that is there today."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        loader: Any = self
        return None if _today(fullname) is None else ModuleSpec(fullname, loader)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = _today(spec.name)
        assert name is not None
        module = import_module(name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is; it was executed under its name, which it keeps."""
        if module.__spec__ is not None:  # that of the former name, by now
            module.__spec__ = module.__spec__.loader_state


def _today(name: str) -> str | None:
    """Return the name of a moved module today; None: it has not moved."""
    for former, today in MOVED.items():
        if name == former or name.startswith(f"{former}."):
            return today + name.removeprefix(former)
    return None


def find_moved_modules() -> None:
    """Let former names be imported from now on."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
