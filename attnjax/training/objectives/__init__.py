"""Objectives: what a training minimizes."""
