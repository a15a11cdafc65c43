"""The log of a training: metrics in files, progress on the console."""
