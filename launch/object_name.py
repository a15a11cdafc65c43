"""Names of objects at Google Cloud and Kubernetes."""

import hashlib
import re

LONGEST = 50
"""Both allow 63 letters; the name of a pod is longer than that of its JobSet."""


def object_name(*words: str) -> str:
    """Words as the name of an object: small letters, digits and hyphens; a long one is cut."""
    name = re.sub("[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9].rstrip('-')}-{digest(name)}"


def digest(text: str) -> str:
    """Eight letters that differ for different texts."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
