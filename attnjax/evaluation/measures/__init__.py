"""Measures: what is computed of a run on the test split beside the metric of its answers."""
