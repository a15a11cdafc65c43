"""Objectives: what a training minimizes."""

from attnjax.training.objectives.base import CrossEntropy, Objective, Totals
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel
from attnjax.training.objectives.redundancy_penalty import RedundancyPenalty
from attnjax.training.objectives.show_attend_tell import DoublyStochastic, Reinforce
from attnjax.training.objectives.squared_error import SquaredError
from attnjax.training.objectives.teacher_forcing import TeacherForcing

__all__ = [
    "CrossEntropy",
    "DoublyStochastic",
    "MaskedLanguageModel",
    "Objective",
    "RedundancyPenalty",
    "Reinforce",
    "SquaredError",
    "TeacherForcing",
    "Totals",
]
