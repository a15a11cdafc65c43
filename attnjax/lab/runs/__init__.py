"""The folder of a run: manifest, lease, failures, result."""
