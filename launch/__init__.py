"""Runs experiments on machines that one does not sit at.

`python -m launch.slurm` submits to SLURM; the tasks launch/sky*.yaml are SkyPilot's, for clouds and
Kubernetes. Both run `attnjax run` there, and leave queues, machines and files to the
engine's own commands.
"""
