"""Records that stand in for the runs of an experiment file: which are taken, and why others not.

A record is that of a run if settings, seed and data are equal, whatever experiment it was made for.
A variant with parts of one's own also wants their text, and a tuned one the grid. Of several
records of a seed, one of this kind of machine is taken, else one of the kind that has most.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from attnjax.config.packages import packages_of
from attnjax.config.serialize import own_names
from attnjax.data.corpus import Corpus, Task
from attnjax.experiment import Ablation
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Point, in_words
from attnjax.lab.results.fit import fitting, tuned_over
from attnjax.lab.results.read import settings_digest
from attnjax.lab.results.record import Record
from attnjax.lab.runs.provenance import definitions_digest
from attnjax.lab.runs.versions import machine

MANY = 24
"""More variants than these are counted, not named."""


@dataclass(frozen=True, kw_only=True)
class StandIns:
    """The records that stand in for runs of an experiment file.

    Attributes:
        records: one for each variant, seed and point; a record has the name that its variant has
            in the file.
        points: by variant, the values that its records were tuned to, then those tied with them.
        reasons: by variant, why records that it may be thought to have are not taken.
    """

    records: tuple[Record, ...] = ()
    points: Mapping[str, Sequence[Point]] = MappingProxyType({})
    reasons: Mapping[str, str] = MappingProxyType({})

    def of(self, variant: str, seed: int, values: Mapping[str, Any], *, tied: bool) -> list[Record]:
        """Return the record of a seed of a variant at some values, as a list of at most one."""
        of_seed = self._by_seed.get((variant, seed, tied), [])
        return [record for record in of_seed if record.tuned == values]

    @cached_property
    def _by_seed(self) -> dict[tuple[str, int, bool], list[Record]]:
        places = defaultdict[tuple[str, int, bool], list[Record]](list)
        for record in self.records:
            places[record.variant, record.seed, record.tied].append(record)
        return places


NONE = StandIns()


def standing_in(
    loaded: ExperimentFile,
    records: Sequence[Record],
    runs: Sequence[Record] = (),
    *,
    seeds: Iterable[int] = (),
    corpora: Mapping[Task, Corpus] = MappingProxyType({}),
) -> StandIns:
    """Choose the records that stand in for runs, beside the `runs` that are there.

    Seeds are those that the file plans, those of the runs and `seeds`. Data are compared with
    `corpora`, and with those of the runs.
    """
    found, refused = _found(loaded, records, {*_planned(loaded, runs), *seeds}, corpora)
    fit = [record for record in fitting(loaded, [*runs, *found]) if record.run is None]
    counts = Counter(record.kind for record in fit)
    fit.sort(key=lambda record: (record.kind != machine().kind, -counts[record.kind], record.kind))
    taken, points, reasons = list[Record](), dict[str, list[Point]](), dict[str, str]()
    for name in loaded.ablation.variants:
        of_runs = [run for run in runs if run.variant == name]
        of_name = [record for record in fit if record.variant == name]
        own = _at_its_points(of_name, of_runs)
        points[name] = _unique(record.tuned for record in own)
        taken += _one_a_seed(own, of_runs)
        reasons[name] = _in_words([*refused[name], *_at_other_values(of_name, own, of_runs)])
    for name in loaded.ablation.variants:
        if not reasons[name] and not points[name]:
            reasons[name] = _of_other_settings(loaded, name, records, taken)
    return StandIns(records=tuple(taken), points=points, reasons=reasons)


def _planned(loaded: ExperimentFile, runs: Sequence[Record]) -> Iterator[int]:
    """Yield the seeds that the file plans, those of its looks included, and those of the runs."""
    first, most = loaded.ablation.first_seed, max(loaded.ablation.seeds, *loaded.ablation.looks, 0)
    yield from range(first, first + most)
    yield from (run.seed for run in runs if run.stage != "tuning")


def _found(
    loaded: ExperimentFile,
    records: Sequence[Record],
    seeds: Container[int],
    corpora: Mapping[Task, Corpus],
) -> tuple[list[Record], dict[str, list[str]]]:
    """Return the records that are of the file's variants, under their names there.

    Beside them stands, by variant, why records of equal settings are not.
    """
    found, refused = list[Record](), defaultdict[str, list[str]](list)
    by_settings = defaultdict[str, list[Record]](list)
    for record in records:
        by_settings[record.settings].append(record)
    for name, experiment in loaded.ablation.variants.items():
        wanted = _Wanted.of(loaded, name, corpora.get(experiment.task))
        for record in filter(wanted.alike, by_settings[wanted.settings]):
            reason = next(wanted.reasons(record), "") if record.seed in seeds else "of other seeds"
            if reason:
                refused[name].append(reason)
            else:
                tuned = {path: record.tuned[path] for path in loaded.ablation.tune}
                found.append(replace(record, variant=name, tuned=tuned))
    return found, refused


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What the records of a variant must have.

    Attributes:
        parts: the digest of its own parts; None: it has none.
        ablation: its grid, and the seeds that tune.
        begins: whether it begins with another run's parameters.
        corpus: its data; None: they are not here.
        drawn: by the digest of attnjax's sources, the first record of data that its seed draws.
    """

    settings: str
    parts: str | None
    ablation: Ablation
    begins: bool
    corpus: Corpus | None
    drawn: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def of(cls, loaded: ExperimentFile, name: str, corpus: Corpus | None) -> "_Wanted":
        settings, experiment = loaded.settings[name], loaded.ablation.variants[name]
        names = own_names(settings)
        packages = packages_of(loaded.text, names, loaded.modules) if names else {}
        return cls(
            settings=settings_digest(settings, tuple(loaded.ablation.tune)),
            parts=definitions_digest(loaded.text, names, {**loaded.imported, **packages})
            if names
            else None,
            ablation=loaded.ablation,
            begins=experiment.initial_parameters_from is not None,
            corpus=corpus,
        )

    def alike(self, record: Record) -> bool:
        """Return whether a record of the settings has values of the fields that are tuned."""
        return {*record.tuned} == {*self.ablation.tune}

    def reasons(self, record: Record) -> Iterator[str]:
        """Yield why a record of equal settings is not taken."""
        if self.begins:
            yield "of parameters that began with another run's, and do not say which they were"
        if self.parts is not None and record.parts != self.parts:
            yield (
                "of parts of one's own, whose text they do not have"
                if record.parts is None
                else "of another text of the file's own parts"
            )
        if not tuned_over(self.ablation, record):
            yield f"tuned over another grid, to {in_words([*record.tuned.values()])}"
        yield from self._of_other_data(record)

    def _of_other_data(self, record: Record) -> Iterator[str]:
        """Yield that a split of a record is not the corpus's, if it is here.

        Where each seed draws its data, the first record by the same sources stands for all.
        """
        if self.corpus is None:
            return
        if self.corpus.drawn is not None:
            sources = record.code.attnjax.numbers if record.code else str(record.seed)
            record = self.drawn.setdefault(sources, record)
        data = self.corpus.of_seed(record.seed)
        for split, digest in record.data.items():
            if split not in data.splits or data.digest(split) != digest:
                yield f"of other data: the {split} split differs"


def _at_its_points(ordered: Sequence[Record], runs: Sequence[Record]) -> list[Record]:
    """Return the records of a variant at its chosen values, then those at values tied with them.

    Its runs have the chosen values, or else most seeds do. `ordered` has those to be preferred
    first.
    """
    chosen = [record for record in ordered if not record.tied]
    if not chosen:
        return []
    paths = tuple(chosen[0].tuned)
    of_kind = [record.values(paths) for record in chosen if record.kind == chosen[0].kind]
    of_runs = (run.values(paths) for run in runs if run.stage == "chosen")
    values = next(of_runs, Counter(of_kind).most_common(1)[0][0])
    chosen = [record for record in chosen if record.values(paths) == values]
    kinds = {record.kind for record in chosen}
    others = (record for record in ordered if record.tied and record.kind in kinds)
    return [*chosen, *(record for record in others if record.values(paths) != values)]


def _at_other_values(
    records: Sequence[Record], own: Sequence[Record], runs: Sequence[Record]
) -> Iterator[str]:
    """Yield why records of a variant, at other values than its `own` and its runs, are not taken.

    Those of seeds that are there are left out.
    """
    there = [*own, *(run for run in runs if run.stage == "chosen")]
    seeds = {record.seed for record in there if not record.tied}
    for record in records:
        if not record.tied and record.seed not in seeds:
            others = in_words(there[0].values(tuple(record.tuned)))
            yield f"tuned to {in_words([*record.tuned.values()])}, and other runs to {others}"


def _one_a_seed(records: Sequence[Record], runs: Sequence[Record]) -> Iterator[Record]:
    """Yield the first record of each seed and point that no run is there of."""
    there = {(run.seed, run.tied_values) for run in runs if run.stage != "tuning"}
    for record in records:
        place = record.seed, record.tied_values
        if place not in there:
            there.add(place)
            yield record


def _in_words(reasons: Sequence[str]) -> str:
    counts = Counter(reasons).items()
    return "; ".join(
        f"{count} record{' is' if count == 1 else 's are'} not taken: {reason}"
        for reason, count in counts
    )


def _of_other_settings(
    loaded: ExperimentFile, name: str, records: Sequence[Record], taken: Sequence[Record]
) -> str:
    """Say that records of a variant of this name are of other settings; "": there are none.

    The experiments of records that are taken count, and the one of the file's own name.
    """
    related = {(record.experiment, record.setting) for record in taken}
    related.add((loaded.name, loaded.setting))
    other = [
        record
        for record in records
        if record.variant == name and (record.experiment, record.setting) in related
    ]
    return _in_words(["of other settings"] * len(other))


def listed(variants: Sequence[str], separator: str) -> str:
    """Return the names of variants in a sentence; of many the first, and how many others."""
    if len(variants) <= MANY:
        return separator.join(variants)
    return f"{variants[0]} and {len(variants) - 1} others"


def recorded_by(records: Iterable[Record]) -> str:
    """Return the commits and kinds of machines that made records: "commit 1a2b3c4d on h100-1"."""
    made = _unique(f"commit {record.commit} on {record.kind}" for record in records)
    return ", ".join(made)


def _unique[T](values: Iterable[T]) -> list[T]:
    """Return values in their order, each once; they need no hash."""
    first = list[T]()
    for value in values:
        if value not in first:
            first.append(value)
    return first
