"""`attnjax compare`."""

from pathlib import Path
from typing import Annotated

from attnjax.cli.command import Trust, option, positional, whole_number
from attnjax.cli.output import keep_compiled, say


def compare(
    first: Annotated[Path, positional("RUN", "a run's folder")],
    second: Annotated[Path, positional("RUN", "another's, tested on the same sentences")],
    *,
    sentences: Annotated[
        int,
        option("print the N sentences that differ most", "N", read=whole_number(10_000, least=0)),
    ] = 0,
    attention: Annotated[bool, option("print how alike the two attend, layer by layer")] = False,
    trust: Trust = False,
) -> None:
    """Test whether two runs' scores differ by more than the choice of sentences explains."""
    keep_compiled()
    from attnjax.reporting.number import interval, number
    from attnjax.trained import comparison

    result = comparison.compare(first, second, trust=trust)
    ours, theirs = map(number, result.scores)
    estimate, *ends = result.difference
    say(f"{result.metric}: {ours} in {first}, {theirs} in {second}, {result.sentences:,} sentences")
    say(f"difference: {number(estimate)} (95 % over sentences: {interval(*ends)})")
    say(f"approximate randomization: p = {result.probability:.3g}")
    if result.discordant is not None:
        only, other, chance = result.discordant
        say(
            f"McNemar: {only:,} right in the first alone, {other:,} in the second: p = {chance:.3g}"
        )
    if attention:
        for name, alike in comparison.attention_agreement(first, second, trust=trust).items():
            say(f"agreement of {name}: {number(alike)}")
    pairs = comparison.most_different(first, second, sentences) if sentences else ()
    for pair in pairs:
        say(f"\n{pair.number}  source     {pair.source}".rstrip())
        blank = " " * len(str(pair.number))
        say(f"{blank}  reference  {pair.reference}")
        say(f"{blank}  first      {pair.first}")
        say(f"{blank}  second     {pair.second}")
