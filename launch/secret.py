"""Secrets in lines of a shell script are not printed."""

import re

SECRET = re.compile(
    r"(\b\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)\w*\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """A text without the values of variables whose names say that they are secret."""
    return SECRET.sub(r"\1***", text)
