"""Training: objectives, optimizers, schedules, the pure step; the loop is in `lab.loop`.

This package imports JAX, Flax and optax alone.
"""

from attnjax.training.objectives.base import (
    CrossEntropy as CrossEntropy,
    Objective as Objective,
    Totals as Totals,
)
from attnjax.training.objectives.label_entropy import LabelEntropy as LabelEntropy
from attnjax.training.objectives.masked_language_model import (
    MaskedLanguageModel as MaskedLanguageModel,
)
from attnjax.training.objectives.redundancy_penalty import RedundancyPenalty as RedundancyPenalty
from attnjax.training.objectives.show_attend_tell import (
    DoublyStochastic as DoublyStochastic,
    Reinforce as Reinforce,
)
from attnjax.training.objectives.squared_error import (
    SquaredError as SquaredError,
    SquaredErrorWithin as SquaredErrorWithin,
)
from attnjax.training.objectives.teacher_forcing import TeacherForcing as TeacherForcing
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
