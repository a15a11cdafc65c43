"""A JSON object becomes a dataclass, or the sentence names the file and the key."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from annotated_types import MaxLen

from attnjax.config.constraints import PositiveInt
from attnjax.config.read_json import FolderName, WholeNumber, known_keys, read_record
from attnjax.errors import UserError


@dataclass(frozen=True)
class Inner:
    digest: str = ""


@dataclass(frozen=True)
class Outer:
    name: FolderName
    step: PositiveInt
    parameters: WholeNumber = 0
    loss: float | None = None
    names: tuple[str, ...] = ()
    part: tuple[int, int] | None = None
    versions: Mapping[str, str] | None = None
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()
    few: Annotated[tuple[Inner, ...], MaxLen(1)] = ()
    anything: Any = None


WHOLE = {"name": "a", "step": 1}


def read(content: Any) -> Outer:
    return read_record(json.loads(json.dumps(content)), Outer, "the file")


def test_a_record_is_read():
    assert read(WHOLE) == Outer("a", 1)
    more = {"loss": 1, "names": ["b"], "part": [1, 2], "versions": {"jax": "1"}, "anything": [[1]]}
    more |= {"parameters": 2**40, "inner": {"digest": "x"}, "inners": [{}, {"digest": "y"}]}
    found = read(WHOLE | more)
    assert (found.loss, found.names, found.part) == (1, ("b",), (1, 2))
    assert (found.parameters, found.anything) == (2**40, [[1]])
    assert (found.inner, found.inners) == (Inner("x"), (Inner(), Inner("y")))
    assert known_keys(WHOLE | {"other": 1}, Outer) == WHOLE


@pytest.mark.parametrize(
    "content, key",
    [
        ([WHOLE], "a JSON object was wanted"),
        (None, "a JSON object was wanted"),
        ({"name": "a"}, "the key step is missing; wanted int above 0"),
        (WHOLE | {"stop": 1}, "unknown key 'stop'; did you mean step"),
        (WHOLE | {"few": [{}, {}]}, "few: wanted"),
        (WHOLE | {"step": "1"}, "step: wanted int above 0; got str '1'"),
        (WHOLE | {"step": True}, "step: "),
        (WHOLE | {"step": 0}, "step: "),
        (WHOLE | {"step": 1.5}, "step: "),
        (WHOLE | {"loss": "abc"}, "loss: "),
        (WHOLE | {"loss": float("nan")}, "loss: "),
        (WHOLE | {"parameters": -1}, "parameters: "),
        (WHOLE | {"names": "b"}, "names: "),
        (WHOLE | {"names": [1]}, "names"),
        (WHOLE | {"part": [1]}, "part: "),
        (WHOLE | {"versions": {"jax": 1}}, "versions"),
        (WHOLE | {"inner": {"digest": 1}}, "digest: "),
        (WHOLE | {"inners": [1]}, "inners"),
        *((WHOLE | {"name": name}, "name: ") for name in ("", ".", "..", "a/b", "/a", "a\0", 1)),
    ],
)
def test_another_key_or_type_is_named(content, key):
    with pytest.raises(UserError, match="^the file is damaged, or another version") as raised:
        read(content)
    assert key in str(raised.value)
    assert "\n" not in str(raised.value)
