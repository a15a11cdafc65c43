"""Softmax attention that never holds its [T, S] weights, and the choice of a kernel for it."""
