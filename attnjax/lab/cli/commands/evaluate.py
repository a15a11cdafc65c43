"""`attnjax evaluate`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnjax.config.console import plain_table, printable
from attnjax.config.serialize import json_text
from attnjax.errors import UserError
from attnjax.files import in_a_line
from attnjax.lab.cli.command import option
from attnjax.lab.cli.named_file import check_named, write_named
from attnjax.lab.cli.output import keep_compiled, out, say, write_utf8
from attnjax.lab.cli.trained import TrainedRuns

if TYPE_CHECKING:
    from attnjax.lab.trained.evaluate import Evaluation


def evaluate(
    chosen: TrainedRuns,
    *,
    split: Annotated[str | None, option("train, valid or test; default: test", "S")] = None,
    source: Annotated[Path | None, option("a file of sources, instead of a split", "F")] = None,
    reference: Annotated[
        Path | None, option("a file of references, one line for each source", "F")
    ] = None,
    answers: Annotated[Path | None, option("a file for the answers, a line each", "F")] = None,
    protocols: Annotated[
        bool, option("score translations by sacreBLEU, multi-bleu, chrF and others, side by side")
    ] = False,
    language: Annotated[
        str | None, option("that of --protocols; default: as the task names its targets", "L")
    ] = None,
    json: Annotated[bool, option("print one JSON object")] = False,
) -> None:
    """Score trained runs."""
    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together")
    if source is not None and (protocols or split is not None):
        raise UserError("--split and --protocols exclude --source")
    _check_place(answers, protocols=protocols)
    keep_compiled()
    if json:
        write_utf8()
    from attnjax.lab.reporting.number import number

    split = "test" if split is None else split
    if protocols:
        _protocols(chosen, split, language, json=json)
        return
    _check_no_language(language)
    scores = _scores(chosen, split, source, reference)
    if answers is not None:
        write_named(answers, "".join(f"{in_a_line(text)}\n" for text in scores.answers))
    content = {"run": " ".join(map(str, chosen.runs)), "on": scores.on}
    content |= {"sentences": scores.sentences, **scores.metrics, **scores.details}
    if json:
        print(printable(json_text(content)))
        return
    for name, value in content.items():
        if not isinstance(value, dict | list):  # tables are for --json
            say(f"{name}: {number(value) if isinstance(value, float) else value}")


def _check_no_language(language: str | None) -> None:
    """Refuse a language where nothing depends on it."""
    if language is not None:
        raise UserError("--language goes with --protocols")


def _check_place(answers: Path | None, *, protocols: bool) -> None:
    """Refuse a file for answers that cannot be written."""
    if answers is None:
        return
    if protocols:
        raise UserError("--protocols keeps no answers: leave out --answers")
    check_named(answers)


def _scores(
    chosen: TrainedRuns, split: str, source: Path | None, reference: Path | None
) -> "Evaluation":
    from attnjax.lab.trained.evaluate import evaluate, evaluate_files

    trained, beam, symbols = chosen.open(), chosen.beam, chosen.max_symbols
    if source is not None and reference is not None:
        return evaluate_files(trained, source, reference, beam=beam, max_symbols=symbols)
    measured = any(change.path == "measures" for change in chosen.overrides)
    return evaluate(trained, split=split, beam=beam, measured=measured)


def _protocols(chosen: TrainedRuns, split: str, language: str | None, *, json: bool) -> None:
    """Print the scores of every protocol."""
    from attnjax.lab.reporting.number import number
    from attnjax.lab.trained.protocols import protocols

    scored = protocols(chosen.open(), split=split, beam=chosen.beam, language=language)
    if json:
        print(printable(json_text(asdict(scored))))
        return
    known = f"the {scored.known:,} without unknown words"
    drawn = plain_table(["protocol", f"{scored.sentences:,} sentences", known])
    for name, score in scored.scores.items():
        drawn.add_row(name, number(score), number(scored.known_scores.get(name)))
    out().print(drawn)
    say(f"sacreBLEU: {scored.signature}")
    say(f"Moses: the rules of {scored.language!r} (--language takes those of another)")
