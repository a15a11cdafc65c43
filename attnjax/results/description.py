"""What finished runs are of: fields that differ, data, costs, environment, the metrics' meaning."""

import inspect
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from attnjax.config.serialize import to_json
from attnjax.experiment.load import ExperimentFile
from attnjax.reporting.summary import FieldRow
from attnjax.results.variant_runs import VariantRuns
from attnjax.runs.result import RunResult


def differing(loaded: ExperimentFile, variants: Mapping[str, VariantRuns]) -> tuple[FieldRow, ...]:
    """The fields in which the runs of some variant differ from the file's base.

    Fields that have the same values in every variant share a row.
    """
    base = to_json(loaded.ablation.base, loaded.own)
    values: dict[str, dict[str, str]] = defaultdict(dict)
    of_base: dict[str, str] = {}
    for name, runs in variants.items():
        for path, run, file in next(iter(runs.manifests.values())).differences(base):
            values[path][name], of_base[path] = shown(run), shown(file)
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, row in values.items():
        rows[of_base[path], *(row.get(name, of_base[path]) for name in variants)].append(path)
    return tuple(FieldRow(paths=tuple(paths), values=row) for row, paths in rows.items())


def shown(value: Any) -> str:
    """A value of a record, in words."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def environment(latest: RunResult) -> tuple[tuple[str, str], ...]:
    """Where a run was made, in pairs of a name and its value; what is unknown is left out."""
    code, machine = latest.code, latest.machine
    pairs = {"device": latest.device}
    if machine is not None:
        memory = f"{machine.memory / 2**30:.0f} GiB" if machine.memory else ""
        pairs |= {"CPU": machine.processor, "memory": memory, "XLA_FLAGS": machine.xla_flags}
    if code is not None:
        for name, of in (("commit", code.attnjax), ("experiment’s commit", code.experiment)):
            changed = "" if of.clean else ", with uncommitted changes"
            pairs[name] = f"{of.commit}{changed}" if of.commit else ""
        pairs["sources"] = code.attnjax.digest[:16]
    pairs |= latest.versions
    return tuple((name, value) for name, value in pairs.items() if value) + (("date", latest.date),)


def meanings(
    loaded: ExperimentFile, variants: Mapping[str, VariantRuns]
) -> tuple[tuple[str, str], ...]:
    """What each metric and measure means: its name, and the first paragraph of its docstring."""
    known: dict[str, str] = {}
    for name, runs in variants.items():
        metric = next((kept.metric for kept in runs.sentences.values()), None)
        if metric is not None:
            known[metric.name.replace("_", " ")] = _first_paragraph(metric)
        for measure in loaded.ablation.variants[name].measures:
            names = dict.fromkeys(key.name.replace("_", " ") for key in measure.keys(metric))
            if names:
                known[", ".join(names)] = _first_paragraph(measure)
    return tuple(known.items())


def _first_paragraph(part: Any) -> str:
    return " ".join((inspect.getdoc(type(part)) or "").partition("\n\n")[0].split())
