"""Runs on disk: folders, training of all variants and seeds, evaluation, the summary."""
