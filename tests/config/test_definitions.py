"""Which statements of a file a class is made of: also those that change what it uses."""

import pytest

from attnjax.config.definitions import used_definitions

USED = """
import helper, math
CONFIG, TABLE = {}, {}
OTHER = {}
ALIAS = CONFIG
def enter(name):
    def put(function):
        TABLE[name] = function
        return function
    return put
def fill(table, value):
    table["filled"] = value
def grow():
    global SIZE
    SIZE += 1
SIZE = 1
class Base:
    kinds = []
    def __init_subclass__(cls):
        Base.kinds.append(cls)
class Mine(Base):
    scale = 1
    def call(self, x):
        return CONFIG, TABLE, SIZE, Base.kinds, helper.SCALE * x
class Another:
    scale = 3
variants = {"mine": Mine()}
"""


@pytest.mark.parametrize(
    "line",  # in which the 7 becomes another number
    [
        "CONFIG['scale'] = 7",
        "CONFIG['a']['b'] = 7",
        "ALIAS['scale'] = 7",
        "CONFIG.update(scale=7)",
        "kept = CONFIG.setdefault('scale', 7)",
        "for name in 'ab':\n    CONFIG[name] = 7",
        "if math.pi > 7:\n    del CONFIG['a']",
        "for table in (CONFIG, OTHER):\n    table['scale'] = 7",
        "fill(CONFIG, 7)",
        "done = fill(value=7, table=CONFIG)",
        "again = [grow() for _ in range(7)]",
        "Mine.scale = 7",
        "setattr(Mine, 'scale', 7)",
        "type.__setattr__(Mine, 'scale', 7)",
        "globals()['SIZE'] = 7",
        "helper.SCALE = 7",
        "helper.scaled(Mine, 7)",
        "@enter('double')\ndef double(x):\n    return 7 * x",
        "class Further(Base):\n    scale = 7",
    ],
)
def test_what_changes_a_used_name_is_a_part_of_its_definition(line):
    ours, theirs = (USED + line.replace("7", number) + "\n" for number in "29")
    first = used_definitions(ours, ["Mine"])
    assert first != used_definitions(theirs, ["Mine"])
    assert first != used_definitions(USED, ["Mine"])


@pytest.mark.parametrize(
    "line",
    [
        "OTHER['scale'] = 7",
        "Another.scale = 7",
        "fill(OTHER, 7)",
        "variants['again'] = Mine(7)",
        "variants.update({'again': Mine(7)})",
        "sizes = [7 * len(CONFIG)]",
        "if __name__ == '__main__':\n    CONFIG['scale'] = 7",
        "def late():\n    CONFIG['scale'] = 7",
    ],
)
def test_what_changes_no_used_name_refuses_nothing(line):
    ours, theirs = (USED + line.replace("7", number) + "\n" for number in "29")
    assert used_definitions(ours, ["Mine"]) == used_definitions(theirs, ["Mine"])
