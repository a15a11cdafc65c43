"""Timings of workloads, beside PyTorch and CTranslate2: `python -m benchmarks` in a checkout."""
