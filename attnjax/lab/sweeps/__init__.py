"""Sweeps: every variant with every seed is tuned, trained, decoded and measured."""
