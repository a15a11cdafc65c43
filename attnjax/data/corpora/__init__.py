"""Tasks read from files or TensorFlow Datasets: parallel text, labelled text, captions, SCAN."""
