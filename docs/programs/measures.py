"""Prints docs/measures.md: the measures and metrics that an experiment can take.

python docs/programs/measures.py > docs/measures.md
"""

from attnjax.config.parts import first_line, parts
from attnjax.evaluation import Bleu, Measure, Metric

HEAD = """\
# Measures and metrics

What an experiment can compute of a run beside its loss. `measures:heads` adds a measure on the
command line, to `attnjax run` or `attnjax evaluate`; in a file it is `measures=(Heads(),)`, with
`from attnjax.evaluation import Heads`. A claim names one of the numbers. `make docs` writes this
page, and a test compares it with the code; [a measure of your own](extending/measure.md),
[a metric of your own](extending/metric.md).

## Measures

| word | class | numbers | what it measures |
|---|---|---|---|"""

METRICS = """
## Metrics

A metric scores decoded answers; a run has one, `metric:chr-f`.

| word | class | number | what it is |
|---|---|---|---|"""


def rows(kind: type) -> list[str]:
    """Return a row of the table for each part of a kind."""
    table = []
    for word, part in parts(kind).items():
        if part is None:
            continue
        keys = [part.name] if issubclass(part, Metric) else map(str, part().keys(Bleu()))
        numbers = "; ".join(keys) or "pictures alone"
        table.append(f"| `{word}` | `{part.__name__}` | {numbers} | {first_line(part)} |")
    return table


if __name__ == "__main__":
    print("\n".join([HEAD, *rows(Measure), METRICS, *rows(Metric)]))
