"""`attnjax evaluate`."""

import json as json_format
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import option
from attnjax.cli.output import keep_compiled, say
from attnjax.cli.trained import TrainedRuns
from attnjax.errors import UserError


def evaluate(
    chosen: TrainedRuns,
    *,
    split: Annotated[str | None, option("train, valid or test; default: test", "S")] = None,
    source: Annotated[Path | None, option("a file of sources, instead of a split", "F")] = None,
    reference: Annotated[
        Path | None, option("a file of references, one line for each source", "F")
    ] = None,
    json: Annotated[bool, option("print one JSON object")] = False,
) -> None:
    """Score trained runs."""
    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together")
    if source is not None and split is not None:
        raise UserError("--split and --source exclude each other")
    keep_compiled()
    from attnjax.reporting.number import number
    from attnjax.trained import evaluate as calls

    trained, beam = chosen.open(), chosen.beam
    if source is not None and reference is not None:
        scores = calls.evaluate_files(
            trained, source, reference, beam=beam, max_symbols=chosen.max_symbols
        )
    else:
        scores = calls.evaluate(trained, split="test" if split is None else split, beam=beam)
    content = {"run": " ".join(map(str, chosen.runs)), "on": scores.on}
    content |= {"sentences": scores.sentences, **scores.metrics, **scores.details}
    if json:
        print(json_format.dumps(content, ensure_ascii=False))
        return
    for name, value in content.items():
        say(f"{name}: {number(value) if isinstance(value, float) else value}")
