"""Puts batches on the devices of several processes; each writes the rows that it holds.

    python -m tests.training.joined_stream CORPUS BATCHING FIRST END FOLDER

CORPUS is memory, or a folder of parallel text, which is prepared by the process that comes first;
BATCHING is packed or bucketed; FIRST and END are steps.
"""

import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.packed import Packed
from attnjax.data.preparation import prepared
from attnjax.lab.loop.run_state import ReadAhead
from attnjax.training.devices import hosts, join, sharding
from tests.training.toy import pairs

BATCHINGS = {
    "bucketed": Batching(max_tokens=48, shapes=3, batch_size_multiple=4),
    "packed": Packed(max_tokens=48, length=12, batch_size_multiple=4),
}
SEED = 3


def examples(corpus: str) -> Sequence[Any]:
    """Return the training examples of a corpus."""
    if corpus == "memory":
        return pairs(40)
    return prepared(ParallelText(folder=corpus, valid=None, test=None)).splits["train"]


def main(corpus: str, batching: str, first: str, end: str, folder: str) -> None:
    """Write, for each step and side, the first row of each device and its rows."""
    join.join()
    plan = BATCHINGS[batching].plan(examples(corpus))
    devices = sharding.devices("mesh", rows=4, seeds=False)
    ahead = ReadAhead(lambda step: devices.shard(plan.batch(step, SEED)), end=int(end))
    held = {}
    for step in range(int(first), int(end)):
        for side, array in ahead.take(step)._asdict().items():
            held[step, side] = [
                (shard.index[0].start or 0, jax.device_get(shard.data))
                for shard in array.addressable_shards
            ]
    ahead.close()
    Path(folder, f"{hosts.index()}").write_bytes(pickle.dumps(held))


if __name__ == "__main__":
    main(*sys.argv[1:])
