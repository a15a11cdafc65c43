"""Cloud TPU: the runs of an experiment, one after the other, on a slice of its own."""
