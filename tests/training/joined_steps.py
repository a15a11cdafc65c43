"""Takes training steps in float64 in several processes; the first writes what came out.

    python -m tests.training.joined_steps MODEL STEPS FILE

FILE gets an object: for each way to use the devices the losses and the parameters.
"""

import pickle
import sys
from pathlib import Path

import jax

from attnjax.training.devices import hosts, join, sharding
from tests.training import test_sharding
from tests.training.toy import Toy

MODELS = {"toy": (Toy(), (3, 5)), "transformer": (test_sharding.TRANSFORMER, (3,))}
"""Models, and the seeds that train together."""


def main(model: str, steps: str, file: str) -> None:
    """Train in every way."""
    join.join()
    sharding.SMALL = 1  # so that fsdp divides small arrays, too
    module, seeds = MODELS[model]
    found = {}
    with jax.enable_x64(True):
        for how in ("mesh", "pmap", "fsdp"):
            losses, params, _ = test_sharding.run(
                module, how, jax.device_count(), seeds=seeds, steps=int(steps), dtype="float64"
            )
            found[how] = losses, params
    if hosts.is_first():
        Path(file).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
