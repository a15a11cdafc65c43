"""The digest of an ablation's design: what must not change after results have been seen."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attnjax.config.serialize import to_json
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.claims import Claim

type Own = Mapping[str, type] | None
"""The dataclasses of the experiment file, by name."""


def claim_digest(claim: Claim, own: Own = None) -> str:
    """Return the digest of a claim without its words, eight hexadecimal digits."""
    return short_digest(_content(claim, own))


def design(ablation: Ablation, own: Own = None) -> str:
    """Return the digest of claims, grid and planned seeds, eight hexadecimal digits.

    Words are left out: they may be mended. Task and model are left out: the key of a record has
    them.
    """
    content = {
        "claims": [_content(claim, own) for claim in ablation.claims],
        "tune": dict(ablation.tune),
        "tuning_seeds": list(ablation.tuning_seeds) if ablation.tune else [],
        "seeds": [ablation.first_seed, ablation.seeds],
    }
    if ablation.looks:
        content["looks"] = list(ablation.looks)
    return short_digest(content)


def tuning_digest(ablation: Ablation) -> str:
    """Return the digest of the grid and of the seeds that tune, eight hexadecimal digits."""
    return short_digest([dict(ablation.tune), [*ablation.tuning_seeds]])


def _content(claim: Claim, own: Own) -> list[Any]:
    return [to_json(part, own) for part in (claim.estimand, claim.low, claim.high, claim.given)]


def short_digest(content: Any) -> str:
    """Return eight digits of the SHA-256 of JSON content; the order of keys does not count."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
