"""The training loop, and what surrounds a step: log, saves, signals, early stopping."""
