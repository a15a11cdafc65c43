"""Trained runs: evaluate, predict, compare, export and import."""

from attnjax.lab.trained.trained_run import (
    Trained as Trained,
    ensemble as ensemble,
    open_trained as open_trained,
)
