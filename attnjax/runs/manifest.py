"""The manifest of a run, config.json, and the experiment file that the run was made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from attnjax.config.constraints import NonNegativeInt, check_value
from attnjax.config.record import FolderName, read_record
from attnjax.config.serialize import own_names, record_differences, to_json
from attnjax.config.walk import field_types
from attnjax.errors import UserError, warn
from attnjax.experiment import Experiment
from attnjax.experiment.design import claim_digest
from attnjax.experiment.load import ExperimentFile, load, load_text
from attnjax.experiment.own_modules import source_digest
from attnjax.runs.json_files import read_sealed
from attnjax.runs.module_copies import importable, module_digests, read_modules
from attnjax.runs.provenance import changed_imports, check_imported
from attnjax.runs.trust import shipped, sign, signed
from attnjax.training.settings import Training

CONFIG, EXPERIMENT = "config.json", "experiment.py"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of config.json: which experiment, variant and seed a run is of.

    What an earlier version of attnjax did not record is None.

    Attributes:
        experiment: the name of the experiment file, without `.py`.
        setting: the name of the ablation's setting; None: the ablation itself.
        settings: the record of the `Experiment`, every field of it.
        vocabulary: the digest of the run's vocabularies; None before the data is read.
        text: the digest of experiment.py.
        path: the path of the experiment file when the run was started.
        signature: the user's signature of `text`, `path` and `modules`, see `attnjax.runs.trust`.
        tuned: the paths of the fields whose values were chosen by tuning.
        together: the names of the folders of the runs that are trained together, its own included.
        claims: the digests of the file's claims when the run was started.
        imported: the digests of the modules of one's own that the experiment file imports, by file.
        modules: the digests of those of them that are copied into the run's folder, by file.
        data: the digests of the training and validation split; None before the data is read.
        data_of_seed: whether the seed draws the data.
    """

    experiment: FolderName
    variant: FolderName
    seed: NonNegativeInt
    settings: Mapping[str, Any]
    vocabulary: str | None = None
    setting: FolderName | None = None
    text: str = ""
    path: str = ""
    signature: str = ""
    tuned: tuple[str, ...] = ()
    together: tuple[FolderName, ...] = ()
    claims: tuple[str, ...] | None = None
    imported: Mapping[str, str] | None = None
    modules: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] | None = None
    data_of_seed: bool = False

    @property
    def mine(self) -> bool:
        """Whether the user has run the experiment file, with these modules, on this machine."""
        return signed(self.signature, *_signed_words(self.text, self.path, self.modules))

    @property
    def group_seeds(self) -> list[int]:
        """The seeds of the runs that are trained together, its own included."""
        numbers = (name.removeprefix("seed-") for name in self.together)
        return sorted({self.seed, *(int(number) for number in numbers if number.isdigit())})

    def differences(self, settings: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
        """The paths where the run differs from other settings, with its value and theirs.

        A task's seed that is the run's own is the same as none.
        """
        drawn = {self.seed, None}
        return [
            (path, ours, theirs)
            for path, ours, theirs in record_differences(self.settings, settings)
            if not (path.startswith("task.") and path.endswith(".seed") and {ours, theirs} == drawn)
        ]

    def training(self, name: str) -> Any:
        """A field of the run's settings of training."""
        return self.settings["training"].get(name, getattr(Training(), name))


def manifest(
    loaded: ExperimentFile,
    variant: str,
    seed: int,
    experiment: Experiment,
    tuned: Sequence[str] = (),
) -> Manifest:
    """The manifest of a run before it is started."""
    text, path = sha256(loaded.text.encode()).hexdigest(), str(loaded.path.resolve())
    settings = to_json(experiment, loaded.own)
    modules = module_digests(loaded.modules) if own_names(settings) else {}
    return Manifest(
        experiment=loaded.name,
        setting=loaded.setting,
        variant=variant,
        seed=seed,
        settings=settings,
        text=text,
        path=path,
        signature=sign(*_signed_words(text, path, modules)),
        tuned=tuple(tuned),
        claims=tuple(claim_digest(claim, loaded.own) for claim in loaded.ablation.claims),
        imported=dict(loaded.imported),
        modules=modules,
    )


def _signed_words(text: str, path: str, modules: Mapping[str, str]) -> list[str]:
    return [text, path, *(f"{file} {digest}" for file, digest in sorted(modules.items()))]


def read(folder: Path) -> Manifest:
    """The manifest of a run's folder."""
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
    """Load the experiment file of a run: the user's own file as it is now, or the folder's copy."""
    manifest = read(folder)
    path = Path(manifest.path)
    loaded = (
        load(path) if manifest.mine and path.is_file() else load_copy(folder, manifest, trust=trust)
    )
    return loaded.at(manifest.setting)


def load_copy(folder: Path, manifest: Manifest, *, trust: bool) -> ExperimentFile:
    """Load the folder's copy of the experiment file, which executes it."""
    path = folder / EXPERIMENT
    if damage := text_damage(folder, manifest):
        raise UserError(damage)
    text = path.read_text(encoding="utf-8")
    if not (manifest.mine or shipped(manifest.experiment, text) or trust):
        raise UserError(
            f"{path} is a program that was not run by you on this machine: read it, and add "
            "--trust to run it"
        )
    loaded = load_text(
        text, name=manifest.experiment, path=path, folder=_modules_folder(folder, manifest)
    )
    check_imported(folder, manifest.imported, loaded.imported)
    return loaded


def _modules_folder(folder: Path, manifest: Manifest) -> Path | None:
    """Where the modules of a run's experiment file are imported from; None: Python's path alone.

    They are those beside the file, or the run's copies if one of them was edited since.
    """
    if manifest.mine:
        beside, then = Path(manifest.path).parent, manifest.imported or {}
        now = {file: source_digest(beside / file) for file in then}
        changed = changed_imports(then, now)
        if not changed or not all(file in manifest.modules for file in changed):
            return beside
    elif not manifest.modules:
        return None  # modules of a path that somebody else's record names are not imported
    return importable(read_modules(folder, manifest.modules))


def warn_of_text(folder: Path, manifest: Manifest) -> None:
    """Warn if the folder's copy of the experiment file was changed after the run was started."""
    if damage := text_damage(folder, manifest):
        warn(damage if own_names(manifest.settings) else f"{damage}; the run does not depend on it")


def text_damage(folder: Path, manifest: Manifest) -> str | None:
    """The damage to the folder's copy of the experiment file; None: it is whole."""
    path = folder / EXPERIMENT
    if not path.is_file():
        return f"{path} is missing"
    if sha256(path.read_bytes()).hexdigest() != manifest.text:
        return f"{path} was changed after the run was started"
    return None
