"""A task that is learned from one task's examples and tested on another's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnjax.data.corpus import ChangedTask, Corpus, Task
from attnjax.data.examples import Encoded
from attnjax.data.vocabularies import Vocabularies
from attnjax.errors import UserError

type _Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class WithTest(ChangedTask):
    """The training and validation examples of one task, and the test examples of another.

    It tests what is not in training, such as longer sequences. Test examples whose source is
    also one of training or validation are left out. The vocabularies are those of `task`.
    """

    test: Task

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        if self.task.answers != self.test.answers:
            raise UserError(
                f"task.test must have answers of the same kind as task.task, {self.task.answers}; "
                f"got {self.test.answers}"
            )
        learned = self.task.load(vocabularies)
        other = self.test.load(learned.vocabularies)
        mine = [learned.splits[split] for split in ("train", "valid") if split in learned.splits]
        seen = {_source(example) for examples in mine for example in examples}
        tested = other.splits.get("test", ())
        unseen = [index for index, example in enumerate(tested) if _source(example) not in seen]
        if not unseen:
            raise UserError("task.test has no test example that is not one of task.task")

        def with_tested(own: _Texts, theirs: _Texts) -> _Texts:
            return {**own, "test": [theirs["test"][index] for index in unseen]} if theirs else own

        left_out = len(tested) - len(unseen)
        note = f"{left_out:,} of {len(tested):,} test examples are left out: training has them"
        return replace(
            learned,
            splits={**learned.splits, "test": other.splits["test"].select(np.array(unseen))},
            sources=with_tested(learned.sources, other.sources),
            references=with_tested(learned.references, other.references),
            notes=(*learned.notes, *other.notes, *([note] if left_out else [])),
            text_notes=None,
        )

    def split_name(self, split: str) -> str:
        return (self.test if split == "test" else self.task).split_name(split)


def _source(example: Encoded) -> bytes:
    """Return the source as a value that can be compared."""
    return np.asarray(example.source).tobytes()
