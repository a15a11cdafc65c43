"""What is measured of a run beside the metric of its task."""
