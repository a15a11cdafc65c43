"""Checkpoints: a run's state and progress on disk, whole or not at all."""
