"""What finished runs are of: fields that differ, data, environment, the metrics' meaning."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attnjax.config.docstrings import docstring
from attnjax.config.serialize import record_differences, to_json
from attnjax.config.vary import vary
from attnjax.errors import named
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.results.record import Record, RunSource
from attnjax.lab.results.summary import Change, FieldRow, Summary
from attnjax.lab.results.variants import Variant
from attnjax.lab.runs.provenance import other_versions

type Runs = Mapping[str, Sequence[Record]]
"""The records of each variant."""


def described(summary: Summary, loaded: ExperimentFile, variants: Mapping[str, Variant]) -> Summary:
    """Return the summary with all that says of what its runs are."""
    runs = {name: variant.records for name, variant in variants.items()}
    return replace(
        summary,
        changes=_changes(variants),
        remarks=_remarks(runs),
        fields=_differing(loaded, runs),
        meanings=_meanings(loaded, variants),
        environment=_environment(runs),
    )


def _differing(loaded: ExperimentFile, variants: Runs) -> tuple[FieldRow, ...]:
    """Return the fields in which the runs of some variant differ from the file's base.

    Fields that have the same values in every variant share a row. The file of a record does not say
    its settings, which are those of the file's variant, up to the values that tuning chose.
    """
    base = to_json(loaded.ablation.base, loaded.own)
    values: dict[str, dict[str, str]] = defaultdict(dict)
    of_base: dict[str, str] = {}
    for name, records in variants.items():
        for path, run, file in _differences(loaded, name, records[0], base):
            values[path][name], of_base[path] = _shown(run), _shown(file)
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, row in values.items():
        rows[of_base[path], *(row.get(name, of_base[path]) for name in variants)].append(path)
    return tuple(FieldRow(paths=tuple(paths), values=row) for row, paths in rows.items())


def _differences(
    loaded: ExperimentFile, name: str, record: Record, base: Any
) -> Sequence[tuple[str, Any, Any]]:
    """Return the paths where a run differs from the file's base, with its value and the base's."""
    if record.run is not None:
        return record.run.manifest.differences(base)
    variant = vary(loaded.ablation.variants[name], record.tuned)
    return record_differences(to_json(variant, loaded.own), base)


def _shown(value: Any) -> str:
    """Return a value of a record in words."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _changes(variants: Mapping[str, Variant]) -> tuple[Change, ...]:
    """Return the fields in which runs differ from the file, with the variants of those runs."""
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, variant in variants.items():
        for path, (ours, theirs) in variant.changes.items():
            alike[path, _shown(ours), _shown(theirs)].append(name)
    return tuple(
        Change(path=path, file=ours, run=theirs, variants=tuple(names))
        for (path, ours, theirs), names in alike.items()
    )


def _remarks(variants: Runs) -> tuple[str, ...]:
    """Return what a reader must know of the runs: notes on data, and code other than this one."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name, records in variants.items():
        runs = [record.run for record in records if record.run is not None]
        for note in dict.fromkeys(note for run in runs for note in _notes(run)):
            alike[note].append(name)
    data = [
        f"data: {note}" if len(names) == len(variants) else f"data of {named(names)}: {note}"
        for note, names in alike.items()
    ]
    other = other_versions(record.code for records in variants.values() for record in records)
    return (*data, other) if other else tuple(data)


def _notes(run: RunSource) -> Iterator[str]:
    """Yield the splits that a corpus has under another name, and the notes on the data."""
    splits = run.result.splits
    renamed = {split: of for split, of in splits.items() if not of.startswith(f"{split}:")}
    if renamed:
        yield "; ".join(f"{split} is {of}" for split, of in renamed.items())
    yield from run.result.notes


def _environment(variants: Runs) -> tuple[tuple[str, str], ...]:
    """Return where the latest run was made, in pairs of a name and its value, if it is known."""
    records = [record for of_variant in variants.values() for record in of_variant]
    if not records:
        return ()
    # of the runs that were made here, where there are any
    records = [record for record in records if record.run is not None] or records
    latest = max(records, key=lambda record: record.date)
    code, machine = latest.code, latest.machine
    pairs = {"device": latest.device}
    if machine is not None:
        memory = f"{machine.memory / 2**30:.0f} GiB" if machine.memory else ""
        pairs |= {"CPU": machine.processor, "memory": memory, "XLA_FLAGS": machine.xla_flags}
    if code is not None:
        for name, of in (("commit", code.attnjax), ("experiment’s commit", code.experiment)):
            changed = "" if of.clean else ", with uncommitted changes"
            pairs[name] = f"{of.commit}{changed}" if of.commit else ""
        pairs["sources"] = code.attnjax.numbers[:16]
    pairs |= latest.versions
    return tuple((name, value) for name, value in pairs.items() if value) + (("date", latest.date),)


def _meanings(
    loaded: ExperimentFile, variants: Mapping[str, Variant]
) -> tuple[tuple[str, str], ...]:
    """Return what each metric and measure means: the first paragraph of its docstring."""
    known: dict[str, str] = {}
    for name, variant in variants.items():
        kept = (run.numbers.sentences for run in variant.chosen)
        metric = next((sentences.metric for sentences in kept if sentences is not None), None)
        if metric is not None:
            known[metric.name.replace("_", " ")] = _first_paragraph(metric)
        for measure in loaded.ablation.variants[name].measures:
            names = dict.fromkeys(key.name.replace("_", " ") for key in measure.keys(metric))
            if names:
                known[", ".join(names)] = _first_paragraph(measure)
    return tuple(known.items())


def _first_paragraph(part: Any) -> str:
    return " ".join(docstring(type(part)).partition("\n\n")[0].split())


def with_setting(loaded: ExperimentFile) -> str:
    """Return how a command names the experiment: "name --setting paper"."""
    return loaded.name if loaded.setting is None else f"{loaded.name} --setting {loaded.setting}"
