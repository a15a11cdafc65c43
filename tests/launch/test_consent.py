"""What a launch costs, and whether it is wanted."""

import io

import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

from attnjax.errors import UserError
from launch.consent import consent, cost


@given(integers(1, 9), integers(1, 9), integers(1, 99), floats(0, 99))
def test_hosts_times_hours_times_the_price(runs, hosts, hours, price):
    line = cost({"run": runs, "host": hosts}, hours * 3600, price, "EUR")
    assert f"= {runs * hosts * hours:,} host-hours" in line
    assert f"= {runs * hosts * hours * price:,.2f} EUR at most" in line


def test_no_price_is_named_where_none_is_known():
    line = cost({"run": 1, "host": 2}, 5400, None, "EUR")
    assert line.startswith("1 run x 2 hosts x 1.5 h = 3 host-hours at most")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["y", "Yes"])
def test_a_yes_goes_on(monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    consent("Submit?", yes=False)


@pytest.mark.parametrize("answer", ["", "n", "perhaps"])
def test_anything_else_does_nothing(monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    with pytest.raises(UserError, match="nothing was done"):
        consent("Submit?", yes=False)


def test_without_a_terminal_only_the_option_says_yes(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(UserError, match="repeat with --yes"):
        consent("Submit?", yes=False)
    consent("Submit?", yes=True)
