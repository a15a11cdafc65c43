"""Runs experiments on machines that one does not sit at.

`python -m launch.slurm` submits to SLURM; `python -m launch.sky` to every engine that SkyPilot
knows. Both run `attnjax run` there, and leave queues, machines and files to the engine's own
commands.
"""
