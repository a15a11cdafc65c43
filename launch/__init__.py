"""Runs experiments on machines that one does not sit at: SLURM, TPU slices, Kubernetes.

Each engine is a program: `python -m launch.slurm`, `python -m launch.tpu`, `python -m
launch.kubernetes`. All of them run `attnjax run` there, one run of the experiment a job, and leave
queues, machines and files to the engine's own commands.
"""
