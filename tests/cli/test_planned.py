"""The last line of a dry run: how many runs, and of which the time is not known."""

import pytest
from rich.text import Text

from attnjax.lab.cli.commands.run import planned
from attnjax.lab.runs.run_folder import RunStatus
from attnjax.lab.sweeps.dry_run import VariantStatus


def status(name: str, pace: float | None) -> VariantStatus:
    return VariantStatus(
        name=name,
        runs={0: RunStatus("missing")},
        points=(),
        tied=(),
        of_records=(),
        failure=None,
        steps=120,
        costs=None,
        unread=None,
        pace=pace,
    )


@pytest.mark.parametrize(
    ("unknown", "said"),
    [
        (2, "the time of v0, v1 is unknown"),
        (128, "the time of v0, v1, v2, v3, v4, v5 and 122 more is unknown"),
    ],
)
def test_of_many_variants_a_few_are_named(unknown, said):
    of_each = [status(f"v{number}", None) for number in range(unknown)]
    *_, line = planned([*of_each, status("known", 0.5)])
    assert isinstance(line, Text)
    assert f"{unknown + 1} of {unknown + 1} runs are to be trained, in about 60 s" in line.plain
    assert said in line.plain
    assert len(line.plain) < 200


def test_if_all_are_unknown_none_is_named():
    *_, line = planned([status("v0", None), status("v1", None)])
    assert isinstance(line, Text)
    assert "; the time is unknown, because" in line.plain
