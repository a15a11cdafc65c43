"""`attnjax compare`."""

from pathlib import Path
from typing import Annotated

from attnjax.lab.cli.command import RunFolder, Trust, count, option, positional
from attnjax.lab.cli.output import keep_compiled, say


def compare(
    first: RunFolder,
    second: Annotated[Path, positional("RUN", "another's, tested on the same sentences")],
    *,
    sentences: Annotated[int, count("print the N sentences that differ most", least=0)] = 0,
    attention: Annotated[bool, option("print how alike the two attend, layer by layer")] = False,
    trust: Trust = False,
) -> None:
    """Test whether two runs' scores differ by more than the choice of sentences explains."""
    keep_compiled()
    from attnjax.lab.reporting.number import interval, number
    from attnjax.lab.trained import comparison

    result = comparison.compare(first, second, trust=trust)
    ours, theirs = map(number, result.scores)
    estimate, *ends = result.difference
    names = _names(first, second)
    say(f"{result.metric}: {ours} in {first}, {theirs} in {second}, {result.sentences:,} sentences")
    say(f"difference: {number(estimate)} (95 % over sentences: {interval(*ends)})")
    say(f"approximate randomization: p = {result.probability:.3g}")
    if result.discordant is not None:
        only, other, chance = result.discordant
        alone = f"{only:,} right in {names[0]} alone, {other:,} in {names[1]}"
        say(f"McNemar: {alone}: p = {chance:.3g}")
    say("The test is of these two runs: with other seeds the variants may compare otherwise.")
    if attention:
        for name, alike in comparison.attention_agreement(first, second, trust=trust).items():
            say(f"agreement of {name}: {number(alike)}")
    labels = "source", "reference", *names
    pairs = comparison.most_different(first, second, sentences) if sentences else ()
    for place, *texts in pairs:
        say(f"\n{place}")
        for label, text in zip(labels, texts, strict=True):
            say(f"  {label:{max(map(len, labels))}}  {text}".rstrip())


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Return the paths of two folders without their common beginning and end."""
    ours, theirs = first.resolve().parts, second.resolve().parts
    for end in (0, -1):
        while ours and theirs and ours[end] == theirs[end]:
            ours, theirs = (parts[1:] if end == 0 else parts[:-1] for parts in (ours, theirs))
    return "/".join(ours) or "first", "/".join(theirs) or "second"
