"""How long one rerun of an experiment takes, by the records of its runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from attnjax.results.record import Record
from attnjax.results.records import Place, Recorded

type Planned = Mapping[tuple[Place, int], Record]
"""The records of planned runs, by variant, values and seed."""


def rerun_time(experiment: Recorded) -> str:
    """Return the time of one rerun in words: "22 minutes"; "not run" without records.

    It is that of the file as it is now: every variant is tuned once, each planned seed is trained
    and decoded once at the chosen values and at those that are tied with them, one run after the
    other. Seeds that train together share their time, so it is the time by the clock. Of several
    kinds of machines the one with the most planned runs counts, and of these the fastest. If
    planned runs have no record, the words say of how many runs the time is.
    """
    ablation = experiment.loaded.ablation
    by_kind: dict[str, dict[tuple[Place, int], Record]] = defaultdict(dict)
    for record in experiment.records:
        if record.seed in ablation.planned_seeds:
            by_kind[record.kind][(record.variant, record.tied_values), record.seed] = record
    if not by_kind:
        return "not run"
    runs = max(by_kind.values(), key=lambda runs: (_at_chosen_values(runs), -_minutes(runs)))
    recorded, planned = _at_chosen_values(runs), len(ablation.variants) * ablation.seeds
    words = _in_words(_minutes(runs))
    return words if recorded == planned else f"{words} for {recorded} of {planned} runs"


def _at_chosen_values(runs: Planned) -> int:
    return sum(not record.tied for record in runs.values())


def _minutes(runs: Planned) -> float:
    chosen = [record for record in runs.values() if not record.tied]
    tuning = {record.variant: record.minutes.tune or 0.0 for record in chosen}
    return sum(record.minutes.run for record in runs.values()) + sum(tuning.values())


def _in_words(minutes: float) -> str:
    whole = round(minutes)
    return "under 1 minute" if minutes < 1 else f"{whole} minute{'' if whole == 1 else 's'}"


def rerun_times(experiments: Iterable[Recorded]) -> dict[str, str]:
    """Return the time of one rerun of each experiment in its own setting, by name."""
    own = (each for each in experiments if each.loaded.setting is None)
    return {experiment.loaded.name: rerun_time(experiment) for experiment in own}
