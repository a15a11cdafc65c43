"""Kubernetes: each run of an experiment as a JobSet, on nodes with GPUs or a TPU slice."""
