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
from attnjax.config.read_json import Digest
from attnjax.errors import UserError

PACKAGE = Path(__file__).resolve().parents[2]

TRAINS = (
    "lab/checkpoints",
    "lab/loop",
    "lab/runs/initial_parameters.py",
    "lab/runs/same_training.py",
    "lab/sweeps/division.py",
    "lab/sweeps/finish.py",
    "lab/sweeps/groups.py",
    "lab/sweeps/multi_process.py",
    "lab/sweeps/train.py",
)
"""The files and folders of the laboratory that can change a number of a run."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The commit that git has checked out, and whether its files are unchanged.

    None: git does not know the file, or there is no git.
    """

    commit: Digest | None = None
    clean: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Sources(Commit):
    """A version of attnjax: the commit, and the digests of its sources.

    Attributes:
        digest: that of all files.
        library: that of the files that can change a number of a run; None: the run is older than
            this field.
    """

    digest: Digest
    library: Digest | None = None

    @property
    def numbers(self) -> str:
        """The digest of the code of its numbers, as far as it is known."""
        return self.library or self.digest

    @property
    def is_running(self) -> bool:
        """Whether the version that is running has the same code wherever it can change a number.

        One that does not say which it has is compared by its commit.
        """
        now = sources()
        if self.library is not None:
            return self.library == now.library
        same_commit = self.commit is not None and self.commit == now.commit
        return self.digest == now.digest or bool(same_commit and self.clean and now.clean)


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
    return Sources(
        digest=package_digest(PACKAGE),
        library=library_digest(PACKAGE),
        **vars(commit(PACKAGE / "__init__.py")),
    )


@cache
def package_digest(package: Path) -> str:
    """Return the digest of all Python files of attnjax."""
    return _digest(package, package.rglob("*.py"))


@cache
def library_digest(package: Path) -> str:
    """Return the digest of the files of attnjax that can change a number of a run.

    They are those of the library, and of the laboratory what trains and measures: not its pages,
    commands and words. Experiments, which an installed package has inside, are no part of it.
    """
    rooms = [path for path in package.iterdir() if path.name not in ("lab", "experiments")]
    places = [*rooms, *(package / place for place in TRAINS)]
    files = {file for place in places for file in (place, *place.rglob("*"))}
    return _digest(package, (file for file in files if file.suffix == ".py"))


def _digest(package: Path, files: Iterable[Path]) -> str:
    """Return the digest of files, by their places in a package."""
    digest = hashlib.sha256()
    for path in sorted({*files}):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes() + b"\0")
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
    other = [code.attnjax for code in made if code and not code.attnjax.is_running]
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
    return (*(made for made in before if made.numbers != now.numbers), now)


def other_makers(made_by: Iterable[Sources]) -> str | None:
    """Say which other versions of attnjax have trained a run that this one goes on with."""
    other = dict.fromkeys(_version(made) for made in made_by if not made.is_running)
    if not other:
        return None
    return f"another version of attnjax ({', '.join(other)}) than this one ({_version(sources())})"


def _version(made: Sources) -> str:
    """Name a version of attnjax: the commit, whether its files are changed, and the digest."""
    digest = f"sources {made.numbers[:10]}"
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
