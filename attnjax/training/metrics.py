"""Metrics between two rows of metrics.jsonl."""

import time
from typing import Any

import numpy as np


class RunningMean:
    """Means over tokens since the last row, per run."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.tokens: Any = 0.0
        self._sums: dict[str, Any] = {}

    def add(self, metrics: dict[str, np.ndarray]) -> None:
        tokens = metrics["tokens"]
        self.tokens = self.tokens + tokens
        for name, value in metrics.items():
            if name != "tokens":
                self._sums[name] = self._sums.get(name, 0.0) + value * tokens

    def means(self) -> dict[str, np.ndarray]:
        speed = self.tokens / max(time.monotonic() - self._began, 1e-9)
        return {name: total / self.tokens for name, total in self._sums.items()} | {
            "tokens_per_second": speed
        }
