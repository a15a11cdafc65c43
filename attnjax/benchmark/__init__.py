"""Timed workloads, and programs of other engines to compare them with."""
