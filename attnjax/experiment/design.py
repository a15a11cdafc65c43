"""The digest of an ablation's design: what must not change after results have been seen."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attnjax.config.serialize import to_json
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.claims import Claim


def claim_digest(claim: Claim, own: Mapping[str, type] | None = None) -> str:
    """The digest of a claim without its words, eight hexadecimal digits; `own`: see `design`."""
    return _digest(_content(claim, own))


def design(ablation: Ablation, own: Mapping[str, type] | None = None) -> str:
    """The digest of claims, grid and planned seeds, eight hexadecimal digits.

    Words are left out: they may be mended. What is learned from and by what network is left out,
    too: the key of a record has that.

    Args:
        ablation: the ablation, in one of its settings.
        own: the dataclasses of the experiment file, by name.
    """
    content = {
        "claims": [_content(claim, own) for claim in ablation.claims],
        "tune": {path: list(values) for path, values in ablation.tune.items()},
        "tuning_seeds": list(ablation.tuning_seeds) if ablation.tune else [],
        "seeds": [ablation.first_seed, ablation.seeds],
    }
    if ablation.looks:
        content["looks"] = list(ablation.looks)
    return _digest(content)


def _content(claim: Claim, own: Mapping[str, type] | None) -> list[Any]:
    return [to_json(part, own) for part in (claim.estimand, claim.low, claim.high, claim.given)]


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
