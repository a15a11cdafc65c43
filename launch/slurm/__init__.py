"""SLURM: the runs of an experiment as a job array."""
