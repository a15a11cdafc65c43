"""Training: objectives, optimizers, schedules, the pure step; the loop is in `training.trainer`.

This package imports JAX, Flax and optax alone. The trainer, checkpoints and logs are imported from
their own modules: `from attnjax.training.loop.train import train`.
"""

from attnjax.training.objectives import (
    CrossEntropy as CrossEntropy,
    DoublyStochastic as DoublyStochastic,
    MaskedLanguageModel as MaskedLanguageModel,
    Objective as Objective,
    RedundancyPenalty as RedundancyPenalty,
    Reinforce as Reinforce,
    SquaredError as SquaredError,
    TeacherForcing as TeacherForcing,
    Totals as Totals,
)
from attnjax.training.optimizers import (
    Adadelta as Adadelta,
    Adam as Adam,
    GradientDescent as GradientDescent,
    Optimizer as Optimizer,
)
from attnjax.training.schedules import (
    Constant as Constant,
    Cosine as Cosine,
    Halving as Halving,
    InverseSquareRoot as InverseSquareRoot,
    Noam as Noam,
    Schedule as Schedule,
)
from attnjax.training.settings import Recipe as Recipe, Scoring as Scoring, Training as Training
from attnjax.training.step import (
    State as State,
    evaluation_step as evaluation_step,
    initial_state as initial_state,
    train_step as train_step,
)
