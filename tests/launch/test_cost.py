"""What a launch takes, and whether it is wanted."""

import io

import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

from attnjax.errors import UserError
from launch.program import consent
from launch.site import Site, seconds


@given(integers(0, 40), integers(0, 23), integers(0, 59), integers(1, 59))
def test_a_duration_is_read_as_it_is_written(days, hours, minutes, rest):
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    assert seconds(f"{days}-{hours:02}:{minutes:02}:{rest:02}") == total
    assert seconds(f"{days * 24 + hours}:{minutes:02}:{rest:02}") == total


@pytest.mark.parametrize("written", ["8", "8h", "1:60:00", "00:00:00", "-1:00:00", "1-1", ""])
def test_another_form_is_refused_with_the_right_one(written):
    with pytest.raises(UserError, match="wanted HH:MM:SS or D-HH:MM:SS"):
        seconds(written)


@given(integers(1, 9), integers(1, 9), integers(1, 99), floats(0, 99))
def test_hosts_times_hours_times_the_price(jobs, hosts, hours, price):
    site = Site(hosts=hosts, time=f"{hours}:00:00", price=price, currency="EUR")
    line = site.cost(jobs)
    assert f"= {jobs * hosts * hours:,} host-hours" in line
    assert f"= {jobs * hosts * hours * price:,.2f} EUR at most" in line


def test_no_price_is_named_where_none_is_known():
    line = Site(hosts=2, time="01:30:00", currency="EUR").cost(jobs=1)
    assert line.startswith("1 job x 2 hosts x 1.5 h = 3 host-hours at most")


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
