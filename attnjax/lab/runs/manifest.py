"""The manifest of a run, config.json, and the experiment file that the run was made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from attnjax.config.constraints import NonNegativeInt, check_value
from attnjax.config.own_code import source_digest
from attnjax.config.packages import packages_of
from attnjax.config.read_json import FolderName, read_record
from attnjax.config.serialize import own_names, record_differences
from attnjax.config.walk import field_types
from attnjax.errors import UserError, warn
from attnjax.experiment.design import claim_digest
from attnjax.experiment.load import ExperimentFile, load, load_text
from attnjax.lab.runs.json_files import read_sealed
from attnjax.lab.runs.module_copies import importable, module_digests, read_modules
from attnjax.lab.runs.provenance import Sources, changed_imports, check_imported
from attnjax.lab.runs.trust import file_of_text, shipped_file
from attnjax.training.settings import Training

CONFIG, EXPERIMENT = "config.json", "experiment.py"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of config.json: which experiment, variant and seed a run is of.

    Attributes:
        experiment: the name of the experiment file, without `.py`.
        setting: the name of the ablation's setting; None: the ablation itself.
        settings: the record of the `Experiment`, every field of it.
        vocabulary: the digest of the run's vocabularies; None before the data is read.
        text: the digest of experiment.py.
        path: the path of the experiment file when the run was started.
        tuned: the paths of the fields whose values were chosen by tuning.
        together: the names of the folders of the runs that are trained together, its own included.
        claims: the digests of the file's claims when the run was started.
        imported: the digests of the modules of one's own that the experiment file imports, and of
            the tables beside it that are read meanwhile, by file.
        packages: the versions of the packages that the run's own parts come from.
        modules: the digests of those of them that are copied into the run's folder, by file.
        data: the digests of the training and validation split; None before the data is read.
        data_of_seed: whether the seed draws the data.
        made_by: the versions of attnjax that have trained the run, the first one first.
    """

    experiment: FolderName
    variant: FolderName
    seed: NonNegativeInt
    settings: Mapping[str, Any]
    text: str
    path: str
    vocabulary: str | None = None
    setting: FolderName | None = None
    tuned: tuple[str, ...] = ()
    together: tuple[FolderName, ...] = ()
    claims: tuple[str, ...] = ()
    imported: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] | None = None
    data_of_seed: bool = False
    made_by: tuple[Sources, ...] = ()

    @property
    def own_code(self) -> dict[str, str]:
        """The digests of the modules of one's own, and the versions of packages, of its parts."""
        return {**self.imported, **self.packages}

    @property
    def group_seeds(self) -> list[int]:
        """The seeds of the runs that are trained together, its own included."""
        numbers = (name.removeprefix("seed-") for name in self.together)
        return sorted({self.seed, *(int(number) for number in numbers if number.isdigit())})

    def differences(self, settings: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
        """Return the paths where the run differs from other settings, with its value and theirs.

        A task's seed that is the run's own is the same as none.
        """
        drawn = {self.seed, None}
        return [
            (path, ours, theirs)
            for path, ours, theirs in record_differences(self.settings, settings)
            if not (path.startswith("task.") and path.endswith(".seed") and {ours, theirs} == drawn)
        ]

    def training(self, name: str) -> Any:
        """Return a field of the run's settings of training."""
        return self.settings["training"].get(name, getattr(Training(), name))


def manifest(
    loaded: ExperimentFile,
    variant: str,
    seed: int,
    settings: Mapping[str, Any],
    tuned: Sequence[str] = (),
) -> Manifest:
    """Return the manifest of a run before it is started; `settings` record its experiment."""
    text, path = sha256(loaded.text.encode()).hexdigest(), str(loaded.path.resolve())
    names = own_names(settings)
    return Manifest(
        experiment=loaded.name,
        setting=loaded.setting,
        variant=variant,
        seed=seed,
        settings=settings,
        text=text,
        path=path,
        tuned=tuple(tuned),
        claims=tuple(claim_digest(claim, loaded.own) for claim in loaded.ablation.claims),
        imported=dict(loaded.imported),
        packages=packages_of(loaded.text, names, loaded.modules) if names else {},
        modules=module_digests(loaded.modules) if names else {},
    )


def read(folder: Path) -> Manifest:
    """Read the manifest in a run's folder."""
    path = folder / CONFIG
    if not path.is_file():
        below = sorted(file.parent for file in folder.glob(f"**/{CONFIG}"))[:1]
        hint = f"; there is one at {below[0]}" if below else ""
        raise UserError(f"{folder} is not the folder of a run: it has no {CONFIG}{hint}")
    manifest = read_record(read_sealed(path), Manifest, path)
    try:
        own_names(manifest.settings)
    except RecursionError as error:
        raise UserError(f"{path} is damaged: it is nested too deeply") from error
    training = manifest.settings.get("training")
    if not isinstance(training, Mapping):
        raise UserError(f"{path} is damaged: its settings have no training")
    for name in ("steps", "average", "result"):
        kind = field_types(Training)[name]
        check_value(kind, manifest.training(name), f"{path}: training.{name}")
    return manifest


def experiment_file(folder: Path, *, trust: bool) -> ExperimentFile:
    """Load the experiment file of a run: the user's own, or a shipped one, or the folder's copy.

    A shipped one is loaded as it is now. The copy takes the place of the user's own file where a
    module is gone that the file imports: the run's folder may have it.
    """
    manifest = read(folder)
    file, shipped = _file(folder, manifest), shipped_file(manifest.experiment)
    if file is not None and not all((file.parent / name).is_file() for name in manifest.modules):
        return load_copy(folder, manifest, trust=trust).at(manifest.setting)
    if file is None and shipped is not None and manifest.path == str(shipped):
        file = shipped
    loaded = load_copy(folder, manifest, trust=trust) if file is None else load(file)
    return loaded.at(manifest.setting)


def load_copy(folder: Path, manifest: Manifest, *, trust: bool) -> ExperimentFile:
    """Load the folder's copy of the experiment file, which executes it.

    It imports the modules beside the user's own file of the same text. With `trust`, it imports the
    copies in the run's folder where that file or one of those modules was changed.

    Raises:
        UserError: the copy is damaged, or `trust` is False and the user has no file of its text, or
            has other modules beside it.
    """
    path, file = folder / EXPERIMENT, _file(folder, manifest)
    if damage := text_damage(folder, manifest):
        raise UserError(damage)
    if file is None and not trust:
        raise UserError(
            f"{path} is a program, and its text is not that of a file of yours "
            f"({manifest.path or 'no path'}): read it, and add --trust to run it"
        )
    beside = None if file is None else file.parent
    changed = _changed_beside(manifest, beside)
    if changed and manifest.modules:
        if tables := [name for name in changed if not name.endswith(".py")]:
            raise UserError(
                f"{folder} is a run of other data, of which it has no copy: {tables[0]} was "
                "changed or removed after the run was started"
            )
        if not trust:
            raise UserError(
                f"{folder} is a run of other code: {changed[0]} was changed or removed after the "
                "run was started; add --trust to run the copies in its folder"
            )
        beside = importable(read_modules(folder, manifest.modules))
    # the user's own file finds by its path what lies beside it, such as a table
    text, where = path.read_text(encoding="utf-8"), path if file is None else file
    loaded = load_text(text, name=manifest.experiment, path=where, folder=beside)
    check_imported(folder, manifest.imported, loaded.imported)
    if names := own_names(manifest.settings):
        now = packages_of(loaded.text, names, loaded.modules)
        for name, version in manifest.packages.items():
            if now.get(name, version) != version:
                warn(f"{folder} has parts of {name} {version}, and {now[name]} is installed")
    return loaded


def _file(folder: Path, manifest: Manifest) -> Path | None:
    return file_of_text(folder, manifest.text, name=manifest.experiment, path=manifest.path)


def _changed_beside(manifest: Manifest, beside: Path | None) -> list[str]:
    """Return the imported modules that are not in a folder as they were; None: no folder."""
    if beside is None:
        return [*manifest.modules]
    paths = {file: beside / file for file in manifest.imported}
    # a record may name what is no file, and could be read for ever
    now = {file: source_digest(path) if path.is_file() else "" for file, path in paths.items()}
    return changed_imports(manifest.imported, now)


def warn_of_text(folder: Path, manifest: Manifest) -> None:
    """Warn if the folder's copy of the experiment file was changed after the run was started."""
    if damage := text_damage(folder, manifest):
        warn(damage if own_names(manifest.settings) else f"{damage}; the run does not depend on it")


def text_damage(folder: Path, manifest: Manifest) -> str | None:
    """Describe the damage to the folder's copy of the experiment file; None: it is whole."""
    path = folder / EXPERIMENT
    if not path.is_file():
        return f"{path} is missing"
    if sha256(path.read_bytes()).hexdigest() != manifest.text:
        return f"{path} was changed after the run was started"
    return None
