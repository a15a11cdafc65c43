"""The digest of an ablation's design: what must not change after results have been seen."""

import hashlib
import json
from collections.abc import Mapping

from attnjax.config.serialize import to_json
from attnjax.experiment.ablation import Ablation


def design(ablation: Ablation, own: Mapping[str, type] | None = None) -> str:
    """The digest of claims, grid and planned seeds, eight hexadecimal digits.

    Words are left out: they may be mended. What is learned from and by what network is left out,
    too: the key of a record has that.

    Args:
        ablation: the ablation, in one of its settings.
        own: the dataclasses of the experiment file, by name.
    """
    content = {
        "claims": [
            [to_json(part, own) for part in (claim.estimand, claim.low, claim.high, claim.given)]
            for claim in ablation.claims
        ],
        "tune": {path: list(values) for path, values in ablation.tune.items()},
        "tuning_seeds": list(ablation.tuning_seeds) if ablation.tune else [],
        "seeds": [ablation.first_seed, ablation.seeds],
    }
    if ablation.looks:
        content["looks"] = list(ablation.looks)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
