"""The properties of the user's own tasks, metrics, objectives and schedules."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from attnjax.data.batch_plan import Batch
from attnjax.data.batching import in_order
from attnjax.data.corpus import Task
from attnjax.evaluation.metric import Metric, check_metric
from attnjax.experiment import Experiment
from attnjax.lab.checks import Finding
from attnjax.lab.checks.finding import error_finding, not_equal, not_finite, try_property
from attnjax.training.objectives.base import Objective
from attnjax.training.schedules import Schedule

EXAMPLES = 4
"""The number of training examples that a model and an objective are tried on."""

REFERENCES = "a b c", "a b d e"


def few_examples(experiment: Experiment) -> tuple[Any, Any, int]:
    """Return an experiment's model, a batch of a few training examples, and their number."""
    corpus = experiment.task.load()
    model = experiment.resolve(corpus).model
    examples = corpus.splits["train"][:EXAMPLES]
    _, batch = next(in_order(examples, experiment.training.batching))
    return model, batch, len(examples)


def check_part(part: Any, experiment: Experiment) -> list[Finding]:
    """Check a part outside of a model; [] if parts of its kind have no known properties.

    - A task gives the same data each time, and some to train on.
    - A metric scores right and empty answers; statistics of sentences do not depend on others.
    - An objective's loss and gradient are finite; the sums of a batch are those of its examples.
    - A schedule's rates are finite and not negative; a rate depends on its step alone.
    """
    properties: dict[str, Callable[[], str | None]] = {}
    match part:
        case Task():
            properties["gives the same data each time"] = partial(_same_data, part)
        case Metric():
            scores = partial(check_metric, part, REFERENCES[0])
            properties["scores right and empty answers"] = scores
            properties["sentences are counted apart"] = partial(_apart, part)
        case Schedule():
            properties["rates are finite"] = partial(_rates, part, experiment.training.steps)
        case Objective():
            properties = _of_objective(part, experiment)
    return [try_property(what, problem) for what, problem in properties.items()]


def _same_data(task: Task) -> str | None:
    """Return the problem if a task gives other data the second time, or none to train on."""
    first, second = task.load(), task.load()
    if not first.splits.get("train"):
        return "it has nothing to train on"
    different = [name for name in first.splits if first.digest(name) != second.digest(name)]
    return f"{', '.join(different)} differ when loaded again" if different else None


def _apart(metric: Metric) -> str | None:
    """Return the problem if a sentence's statistics depend on the other sentences."""
    answers = ["a b c", "a d"]
    both = metric.statistics(answers, REFERENCES)
    pairs = zip(answers, REFERENCES, strict=True)
    alone = [metric.statistics([answer], [wanted])[0] for answer, wanted in pairs]
    return not_equal("a sentence's row", both, np.stack(alone))


def _rates(schedule: Schedule, steps: int) -> str | None:
    """Return the problem if a rate is not finite, negative, or depends on other steps."""
    every = np.asarray(schedule.rate(np.arange(1, steps + 1)), float)
    if every.shape != (steps,) or not np.isfinite(every).all() or (every < 0).any():
        return f"of {steps:,} steps not all have a rate that is finite and not negative"
    return not_equal("the last rate alone", schedule.rate(steps), every[-1])


def _of_objective(
    objective: Objective, experiment: Experiment
) -> dict[str, Callable[[], str | None]]:
    """Return the properties of an objective, on a few training examples of its experiment."""
    try:
        model, batch, count = few_examples(experiment)
        init = jax.jit(partial(model.init, deterministic=True))
        variables = init(jax.random.key(0), *batch)
    except Exception as error:
        problem = error_finding("", error).problem
        return {"fits its task": lambda: problem}
    params, state = variables["params"], objective.initial()

    @jax.jit
    def totals(params: Any, batch: Batch) -> Any:
        return objective(model, params, state, batch, key=None)

    def loss(params: Any, batch: Batch) -> jax.Array:
        total, count = totals(params, batch)["loss"]
        return total / count

    def finite() -> str | None:
        value, gradient = jax.jit(jax.value_and_grad(loss))(params, batch)
        return not_finite("the loss", value) or not_finite("the gradient", gradient)

    def add_up() -> str | None:
        whole = totals(params, batch)["loss"]
        rows = [
            np.stack(totals(params, Batch(*(side[row : row + 1] for side in batch)))["loss"])
            for row in range(count)
        ]
        return not_equal("the loss", np.stack(whole), np.stack(rows).sum(0))

    return {"loss and gradient are finite": finite, "the sums of examples add up": add_up}
