"""`attnjax parts`."""

import re
import sys
from typing import Annotated, Any, get_args, get_origin

from rich.text import Text

from attnjax.lab.cli.chosen import NAME
from attnjax.lab.cli.command import positional
from attnjax.lab.cli.output import out
from attnjax.lab.runs.catalog import find


def parts(
    path: Annotated[
        str, positional("PATH", "a field, such as model.encoder_layer.self_attention.head.score")
    ],
    experiment: Annotated[
        str | None, positional("EXPERIMENT", f"{NAME}; default: a Transformer that copies")
    ] = None,
) -> None:
    """Print the parts that a field can hold, with equations, fields and defaults; or its values."""
    from attnjax.config.constraints import describe, shown
    from attnjax.config.parts import first_line, parts as choices
    from attnjax.config.vary import field_at
    from attnjax.data.generated.sequences import Copy
    from attnjax.experiment import Experiment, load
    from attnjax.models.transformer import Transformer

    if experiment is None:
        base = Experiment(task=Copy(), model=Transformer())
    else:
        base = load(find(experiment)).ablation.base
    hint, now = field_at(base, path)
    several = get_origin(hint) is tuple
    options = choices(get_args(hint)[0] if several else hint)
    if not options:
        out().print(f"{path} is a value: {describe(hint)}; now {shown(now)}", highlight=False)
        return
    chosen = [type(part) for part in now] if several else [type(now)]
    for name, kind in options.items():
        held = "  now" if kind in chosen or (kind is None and now is None) else ""
        out().print(Text.assemble((name, "bold"), f"  {first_line(kind)}{held}"))
        for line in _below(kind):
            out().print(Text(f"    {line}"))


def _below(kind: type | None) -> list[str]:
    """Return the equations of a part, and its fields with their defaults."""
    from attnjax.config.docstrings import docstring
    from attnjax.config.parts import first_line
    from attnjax.config.walk import defaults, field_names

    if kind is None:
        return []
    equations = _equations(docstring(kind))
    if function := re.match(r"`(\w+)`", first_line(kind)):  # "`softmax` as a part"
        named = getattr(sys.modules.get(kind.__module__), function[1], None)
        text = "" if named is None else docstring(named)
        equations = [" ".join(text.split("\n\n")[0].split()), *_equations(text), *equations]
    usual: dict[str, Any] = defaults(kind)
    fields = [
        f"{name} = {usual[name]!r}" if name in usual else f"{name} (must be given)"
        for name in field_names(kind)
    ]
    return [*equations, *fields]


def _equations(docstring: str) -> list[str]:
    """Return the indented lines between the first paragraph and the sections of a docstring."""
    text = docstring.partition("\n\n")[2]
    before = re.split(r"^(?:Args|Attributes|Raises|Source):", text, maxsplit=1, flags=re.MULTILINE)
    return [line.strip() for line in before[0].split("\n") if line.startswith("    ")]
