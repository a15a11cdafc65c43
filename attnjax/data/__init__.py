"""Data: generated tasks, files and public corpora, their vocabularies, and batches of them.

A `Task` is a part of an experiment; `load` makes it a `Corpus`: a vocabulary, encoded splits and
the references that are scored. `Batching` cuts encoded examples into batches of a few fixed shapes,
as NumPy arrays on the host. Nothing in here knows of JAX, and nothing is read before `load`.
"""
