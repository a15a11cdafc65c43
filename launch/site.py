"""A site: what one says of a cluster, once, in a small TOML file; `launch/sites/` has examples."""

import tomllib
from pathlib import Path

from attnjax.config.record import make_record
from attnjax.errors import UserError


def read_site[Site](path: Path, kind: type[Site]) -> Site:
    """Read a site from a TOML file, whose keys are the fields of the dataclass."""
    try:
        return make_record(tomllib.loads(path.read_text(encoding="utf-8")), kind)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the site file {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the site file {path} is not TOML: {error}") from error
    except UserError as error:
        raise UserError(f"the site file {path}: {error}") from error
