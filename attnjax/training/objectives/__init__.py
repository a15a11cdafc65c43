"""Objectives: what a training minimizes."""

from attnjax.training.objectives.base import (
    CrossEntropy as CrossEntropy,
    Objective as Objective,
    Totals as Totals,
)
from attnjax.training.objectives.masked_language_model import (
    MaskedLanguageModel as MaskedLanguageModel,
)
from attnjax.training.objectives.redundancy_penalty import RedundancyPenalty as RedundancyPenalty
from attnjax.training.objectives.show_attend_tell import (
    DoublyStochastic as DoublyStochastic,
    Reinforce as Reinforce,
)
from attnjax.training.objectives.squared_error import SquaredError as SquaredError
from attnjax.training.objectives.teacher_forcing import TeacherForcing as TeacherForcing
