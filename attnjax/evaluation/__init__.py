"""Evaluation: what a model's outputs and its attention are worth, and how sure that is."""
