"""Records of shares of right answers, and a claim on them."""

from dataclasses import replace
from pathlib import Path

from attnjax.config.serialize import to_json
from attnjax.experiment import Claim, Value
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.results.read import settings_digest
from attnjax.lab.results.record import Record
from attnjax.lab.runs.versions import Machine

TINY = Path(__file__).parents[2] / "tests" / "tiny.py"
RATE = "optimizer.schedule.value"
NOW = "2026-11-24T06:00:00+00:00"


def with_shares(short: ExperimentFile, made: list[Record], *shares: float, kind: str = "a"):
    """Records of the shares of right answers, one a seed, of a kind of machine."""
    (measured,) = [each for each in made[0].metrics if each == made[0].metrics[0]]
    place = Machine(kind=kind, processor="", cores=2, xla_flags="")
    return [
        replace(
            made[0],
            seed=seed,
            machine=place,
            answers=None,
            metrics=(replace(measured, value=share),),
        )
        for seed, share in enumerate(shares)
    ]


def judged_by(short: ExperimentFile, seeds: int, low: float, first_seed: int = 0) -> ExperimentFile:
    claim = Claim(text="enough", estimand=Value("exact_match", "scaled"), low=low)
    ablation = replace(short.ablation, seeds=seeds, first_seed=first_seed, claims=(claim,))
    return replace(short, ablation=ablation)


def tuned_over(loaded: ExperimentFile, rates: tuple[float, ...]) -> ExperimentFile:
    """The file, whose learning rate is tuned."""
    return replace(loaded, ablation=replace(loaded.ablation, tune={RATE: rates}))


def at_rate(
    records: list[Record], loaded: ExperimentFile, rate: float, *, tied: bool = False
) -> list[Record]:
    """The records, of runs that tuning gave a rate."""
    settings = settings_digest(
        to_json(loaded.ablation.variants["scaled"], loaded.own), tuple(loaded.ablation.tune)
    )
    return [replace(made, settings=settings, tuned={RATE: rate}, tied=tied) for made in records]
