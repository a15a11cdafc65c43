"""Objectives, optimizers, the pure step, devices, checkpoints, and the loop around them."""
