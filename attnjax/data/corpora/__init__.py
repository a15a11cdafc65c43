"""Tasks that are read from files or from TensorFlow Datasets."""
