"""Repeat a workload whenever a line comes in, and answer with the seconds that it took.

These programs need their own engine and nothing of attnjax, and Python 3.11 is enough.
"""

import json
import os
import sys
import time

try:
    CORES = len(os.sched_getaffinity(0))
except AttributeError:  # not on Linux
    CORES = os.cpu_count()


def serve(engine, version, call, warmup=2):
    """Print the engine's name once it is warm; then, for a line "N", the seconds of N calls.

    One more call goes before them, since a turn begins with cold caches.
    """
    for _ in range(warmup):
        call()
    print(json.dumps({"engine": engine, "version": version}), flush=True)
    for line in sys.stdin:
        call()
        start = time.perf_counter()
        for _ in range(int(line)):
            call()
        print(time.perf_counter() - start, flush=True)
