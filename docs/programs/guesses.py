"""Prints what guesses without a network get right in each column of the arena, for its file.

python docs/programs/guesses.py
"""

from collections.abc import Mapping
from pprint import pformat

import numpy as np

from attnjax.evaluation import LabelAccuracy
from attnjax.evaluation.guesses import shares_of_guesses
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.load import load
from attnjax.lab.runs.catalog import find


def guesses(ablation: Ablation, column: str) -> Mapping[str, tuple[float, ...]]:
    """Return the mean over the data of all seeds, by kind of guess: two shares, in hundredths."""
    assert ablation.crossing is not None
    first = ablation.crossing.rows[0]
    experiment = ablation.variant(ablation.crossing.variant(first, column))
    accuracy = next(of for of in experiment.measures if isinstance(of, LabelAccuracy))
    assert accuracy.longest is not None
    seeds = [
        shares_of_guesses(experiment.task.of_seed(seed).load(), accuracy.longest)
        for seed in ablation.planned_seeds
    ]
    return {
        kind: tuple(np.mean([shares[kind] for shares in seeds], axis=0).round(2).tolist())
        for kind in seeds[0]
    }


if __name__ == "__main__":
    arena = load(find("arena")).ablation
    assert arena.crossing is not None
    columns = {column: guesses(arena, column) for column in arena.crossing.columns}
    kinds = next(iter(columns.values()))
    table = {kind: {name: shares[kind] for name, shares in columns.items()} for kind in kinds}
    print(pformat(table, width=100, sort_dicts=False))
