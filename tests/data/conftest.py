"""Tasks are checked before they are loaded, as an experiment's are."""

from collections.abc import Callable

import pytest

from attnjax.config.constraints import check_fields
from attnjax.data.corpus import Corpus, Task


@pytest.fixture
def load() -> Callable[[Task], Corpus]:
    """Checks a task's fields and loads it."""

    def checked(task: Task) -> Corpus:
        check_fields(task, "task")
        return task.load()

    return checked
