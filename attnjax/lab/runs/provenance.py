"""The code that made a run: attnjax's sources, the commit, and the modules of one's own.

Modules of one's own decide what the run's parts compute: a run of other ones is refused. attnjax's
sources change from day to day: a run of other ones is kept, and the summary says so.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attnjax.config.definitions import used_definitions
from attnjax.config.record import Digest
from attnjax.errors import UserError

PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The commit that git has checked out, and whether its files are unchanged.

    None: git does not know the file, or there is no git.
    """

    commit: Digest | None = None
    clean: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Sources(Commit):
    """A version of attnjax: the digest of its sources, and their commit."""

    digest: Digest


@dataclass(frozen=True, kw_only=True)
class Code:
    """The code of a run: attnjax's, and the commit of the experiment file."""

    attnjax: Sources
    experiment: Commit = Commit()


def check_imported(folder: Path, then: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse a run whose parts were made of other modules than the experiment file imports now."""
    for file in changed_imports(then, now):
        raise UserError(
            f"{folder} is a run of other code: {file} was changed after the run was started; "
            "choose another --runs, or delete the run"
        )


def changed_imports(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the files of modules that were changed, by their digests.

    A module that only one of the two imports is none: what uses it was changed then. But one of
    the same name may have another place: beside the file or not, a file or a folder of them.
    """
    moved = {_module(file): digest for file, digest in now.items() if file not in then}
    return [
        file
        for file, digest in then.items()
        if now.get(file, moved.get(_module(file), digest)) != digest
    ]


def _module(file: str) -> str:
    """Return the last part of the name of a file's module."""
    path = Path(file)
    return path.parent.name if path.stem == "__init__" else path.name.partition(".")[0]


def check_packages(folder: Path, then: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse a run whose parts come from a package of another version than is installed now."""
    for name, version in then.items():
        if now.get(name, version) != version:
            raise UserError(
                f"{folder} has parts of {name} {version}, and {now[name]} is installed: install "
                f"{name} {version} again, or choose another --runs"
            )


def changed_definitions(ours: str, theirs: str, names: Iterable[str]) -> list[str]:
    """Return the names whose definitions differ between two texts of an experiment file.

    The given classes are compared, and everything in the file that they use: base classes,
    functions, constants, imports. Comments, docstrings, layout and the rest of the file (variants,
    claims, the note) are not compared.
    """
    first, second = (used_definitions(text, names) for text in (ours, theirs))
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def definitions_digest(text: str, names: Iterable[str], imported: Mapping[str, str]) -> str:
    """Return the digest of classes in the text of an experiment file, see `changed_definitions`.

    `imported` are the digests of the modules of one's own that the file imports, and the versions
    of the packages that the classes use.
    """
    content = json.dumps([used_definitions(text, sorted(names)), imported], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def code(experiment: Path) -> Code:
    """Return the code of a run, from the path of its experiment file, for its result."""
    return Code(attnjax=sources(), experiment=commit(experiment.resolve()))


def sources() -> Sources:
    """Return the version of attnjax that is running."""
    return Sources(digest=library_digest(), **vars(commit(PACKAGE / "__init__.py")))


@cache
def library_digest() -> str:
    """Return the digest of all Python files of attnjax."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def commit(file: Path) -> Commit:
    """Return the commit that git has checked out around a file."""
    # a file of a virtual environment lies in a repository, and is not of it
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return Commit()
    changed = _git(file.parent, "status", "--porcelain", "--untracked-files=no")
    return Commit(commit=_git(file.parent, "rev-parse", "HEAD"), clean=changed == "")


def other_versions(made: Iterable[Code | None]) -> str | None:
    """Say how many runs another version of attnjax finished; None: no run."""
    other = [code.attnjax for code in made if code and code.attnjax.digest != library_digest()]
    if not other:
        return None
    versions = dict.fromkeys(map(_version, other))
    runs = "1 run is" if len(other) == 1 else f"{len(other)} runs are"
    return (
        f"{runs} of another version of attnjax ({', '.join(versions)}) than this one "
        f"({_version(sources())})"
    )


def joined(before: Iterable[Sources], now: Sources) -> tuple[Sources, ...]:
    """Return the versions of attnjax that made a run, the one that goes on with it the last."""
    return (*(made for made in before if made.digest != now.digest), now)


def other_makers(made_by: Iterable[Sources]) -> str | None:
    """Say which other versions of attnjax have trained a run that this one goes on with."""
    other = dict.fromkeys(_version(made) for made in made_by if made.digest != library_digest())
    if not other:
        return None
    return f"another version of attnjax ({', '.join(other)}) than this one ({_version(sources())})"


def _version(made: Sources) -> str:
    """Name a version of attnjax: the commit, whether its files are changed, and the digest."""
    digest = f"sources {made.digest[:10]}"
    if made.commit is None:
        return digest
    return f"commit {made.commit[:10]}{'' if made.clean else ', changed'}, {digest}"


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of git; None: it fails."""
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
