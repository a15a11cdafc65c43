"""Texts tokenized by all cores: chunks of examples go to processes, their results come in order."""

import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import batched
from multiprocessing import get_context, parent_process
from typing import Any, NamedTuple

import numpy as np

from attnjax.data.corpus import Example, build
from attnjax.data.examples import Rows
from attnjax.data.row_files import MappedTexts
from attnjax.data.text_task import TextTask
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import MachineError

CHUNK = 10_000
"""The examples that a process gets at once."""


class Columns(NamedTuple):
    """Encoded examples as files hold them: ids in as few bytes as the vocabulary allows, texts."""

    source: Rows
    target: Rows
    sources: Rows
    references: Rows

    @staticmethod
    def dtypes(vocabularies: Vocabularies) -> "tuple[np.dtype, ...]":
        """The type of each column's values."""
        text = np.dtype(np.uint8)
        return (*(side.dtype for side in vocabularies if side is not None), text, text)


def encode(
    task: TextTask, vocabularies: Vocabularies, train: bool, examples: tuple[Example, ...]
) -> tuple[int, Columns]:
    """The number of examples, and the columns of those that are kept, encoded as by `Task.load`."""
    kept = [example for example in examples if not train or task.keeps(example)]
    part = build({"part": kept}, vocabularies, task.ids)
    split = part.splits["part"]
    source, target, *_ = Columns.dtypes(vocabularies)
    ids = (split.source.astype(source), split.target.astype(target))
    texts = (MappedTexts.rows_of(each["part"]) for each in (part.sources, part.references))
    return len(examples), Columns(*ids, *texts)


def count_words(
    task: TextTask, parts: tuple[SplitWords, SplitWords], examples: tuple[Example, ...]
) -> tuple[Counter[str], Counter[str]]:
    """How often each word occurs in the examples that are kept, in their sources and targets."""
    kept = [*filter(task.keeps, examples)]
    source, target = parts
    return source.count(pair.source for pair in kept), target.count(pair.target for pair in kept)


def each_chunk[Result](
    call: Callable[[tuple[Example, ...]], Result], examples: Iterable[Example], processes: int
) -> Iterator[Result]:
    """The result of a function for each chunk of examples; a few chunks at most are in memory.

    So many processes call the function, which can be pickled; 0: this one does.
    """
    chunks = batched(examples, CHUNK)
    if not processes:
        yield from map(call, chunks)
        return
    # spawned: a process with the threads of JAX cannot be forked
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (call,))
    waiting: deque[Future[Result]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_called, chunk))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise MachineError(
            "a process that tokenizes the corpus was killed, perhaps for want of memory; the same "
            "command goes on"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_call: Callable[[tuple[Example, ...]], Any]
"""What a process does with each chunk."""


def _begin(call: Callable[[tuple[Example, ...]], Any]) -> None:
    """Prepare a process: it ends with its parent, also if that is killed, and not at Ctrl-C."""
    global _call
    _call = call
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _called(examples: tuple[Example, ...]) -> Any:
    return _call(examples)
