"""How long the records say that a rerun takes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attnjax.experiment import Ablation
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.results.record import Record

type Planned = Mapping[tuple[str, tuple[float, ...], int], Record]
"""The records of planned runs, by variant, values and seed."""


def rerun_time(experiment: Recorded) -> str:
    """Return the time of one rerun in words: "22 minutes"; "not run" without records.

    It is that of the file as it is now: every variant is tuned once, each planned seed is trained
    and decoded once at the chosen values and at those that are tied with them, one run after the
    other. Seeds that train together share their time, so it is the time by the clock; variants
    that are trained alike share the training. Of several kinds of machines the one with the most
    planned runs counts, and of these the fastest. If planned runs have no record, the words say of
    how many runs the time is.
    """
    ablation = experiment.loaded.ablation
    runs = _of_one_kind(experiment, [*ablation.variants])
    if not runs:
        return "not run"
    recorded, planned = _at_chosen_values(runs), len(ablation.variants) * ablation.seeds
    words = _in_words(_minutes(ablation, runs))
    return words if recorded == planned else f"{words} for {recorded} of {planned} runs"


def minutes_of(experiment: Recorded, variants: Sequence[str]) -> float:
    """Return the minutes of one rerun of some variants, as `rerun_time` counts them."""
    return _minutes(experiment.loaded.ablation, _of_one_kind(experiment, variants))


def _of_one_kind(experiment: Recorded, variants: Sequence[str]) -> Planned:
    """Return the planned runs of the kind of machine with the most of them; {}: there are none."""
    ablation = experiment.loaded.ablation
    by_kind: dict[str, dict[tuple[str, tuple[float, ...], int], Record]] = defaultdict(dict)
    for record in experiment.summary.records:
        if record.variant in variants and record.seed in ablation.planned_seeds:
            by_kind[record.kind][record.variant, record.tied_values, record.seed] = record
    return max(
        by_kind.values(),
        key=lambda runs: (_at_chosen_values(runs), -_minutes(ablation, runs)),
        default={},
    )


def _at_chosen_values(runs: Planned) -> int:
    return sum(not record.tied for record in runs.values())


def _minutes(ablation: Ablation, runs: Planned) -> float:
    training, tuning = dict[tuple[str, tuple[float, ...], int], float](), dict[str, float]()
    for record in runs.values():
        first = ablation.trained_as[record.variant]
        training[first, record.tied_values, record.seed] = record.minutes.train
        if not record.tied:
            tuning[first] = record.minutes.tune or 0.0
    decoding = sum(record.minutes.decode or 0.0 for record in runs.values())
    return sum(training.values()) + sum(tuning.values()) + decoding


def _in_words(minutes: float) -> str:
    whole = round(minutes)
    return "under 1 minute" if minutes < 1 else f"{whole} minute{'' if whole == 1 else 's'}"


def rerun_times(experiments: Iterable[Recorded]) -> dict[str, str]:
    """Return the time of one rerun of each experiment in its own setting, by name."""
    own = [experiment for experiment in experiments if experiment.loaded.setting is None]
    return {experiment.loaded.name: rerun_time(experiment) for experiment in own}
