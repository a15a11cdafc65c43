"""Training: objectives, optimizers, schedules, the pure step; the loop is in `training.trainer`.

This package imports JAX, Flax and optax alone. The trainer, checkpoints and logs are imported from
their own modules: `from attnjax.training.train import train`.
"""

from attnjax.training.objectives import (
    CrossEntropy,
    DoublyStochastic,
    MaskedLanguageModel,
    Objective,
    RedundancyPenalty,
    Reinforce,
    SquaredError,
    TeacherForcing,
    Totals,
)
from attnjax.training.optimizers import Adadelta, Adam, GradientDescent, Optimizer
from attnjax.training.schedules import (
    Constant,
    Cosine,
    Halving,
    InverseSquareRoot,
    Noam,
    Schedule,
)
from attnjax.training.settings import Recipe, Scoring, Training
from attnjax.training.step import State, evaluation_step, initial_state, train_step

__all__ = [
    "Adadelta",
    "Adam",
    "Constant",
    "Cosine",
    "CrossEntropy",
    "DoublyStochastic",
    "GradientDescent",
    "Halving",
    "InverseSquareRoot",
    "MaskedLanguageModel",
    "Noam",
    "Objective",
    "Optimizer",
    "Recipe",
    "RedundancyPenalty",
    "Reinforce",
    "Schedule",
    "Scoring",
    "SquaredError",
    "State",
    "TeacherForcing",
    "Totals",
    "Training",
    "evaluation_step",
    "initial_state",
    "train_step",
]
