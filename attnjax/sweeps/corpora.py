"""The data of a sweep's tasks, each of which is read once."""

from collections.abc import Callable

from attnjax.data.corpus import Corpus, Task
from attnjax.data.overlap import with_overlap


class Corpora:
    """The corpora of tasks; what a reader of the results must know of a corpus is said once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._read: dict[Task, Corpus] = {}

    def of(self, task: Task) -> Corpus:
        """The corpus of a task."""
        if task not in self._read:
            self._read[task] = with_overlap(task.load())
            for note in self._read[task].notes:
                self._say(f"data: {note}")
        return self._read[task]
