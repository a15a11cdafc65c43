"""Models made of attention: each has `features` for training and `start`/`step` for decoding."""
