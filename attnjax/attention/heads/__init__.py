"""Layers: heads side by side, their gates, and attention that is not made of heads."""
