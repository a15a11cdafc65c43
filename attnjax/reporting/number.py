"""Numbers in words and digits; only digits that their spread justifies are shown."""

import math

MISSING = "–"


def number(value: float | None, digits: int = 4) -> str:
    """`value` to `digits` significant digits; a dash for None, and words if it is not finite."""
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "not a number")
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def measured(mean: float | None, deviation: float | None) -> str:
    """`mean ± deviation`, with one significant digit of the deviation, or two if the first is 1.

    The mean is rounded to the same place. A deviation of None (one seed), or one that is not
    finite, is left out.
    """
    if mean is None or deviation is None or not math.isfinite(mean) or not math.isfinite(deviation):
        return number(mean)
    if deviation == 0:
        return f"{number(mean)} ± 0"
    exponent = math.floor(math.log10(deviation))
    places = -exponent + (deviation < 2 * 10.0**exponent)
    if places > 7 or abs(mean) >= 1e9:
        return f"{number(mean)} ± {number(deviation, 2)}"
    return f"{_rounded(mean, places)} ± {_rounded(deviation, places)}"


def _rounded(value: float, places: int) -> str:
    """A number to a decimal place; to tens, hundreds, ... for a negative one."""
    shown = f"{round(value, places):,.{max(0, places)}f}"
    return shown if abs(value) >= 10_000 else shown.replace(",", "")


def estimate(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """An estimate and its interval, to two digits of the interval's width."""
    ends = [end for end in (low, high) if end is not None and math.isfinite(end)]
    if value is None or not math.isfinite(value) or len(ends) < 2 or ends[0] == ends[1]:
        return number(value), interval(low, high)
    places = min(max(0, 1 - math.floor(math.log10((ends[1] - ends[0]) / 2))), 9)
    return f"{value:.{places}f}", f"{ends[0]:.{places}f} to {ends[1]:.{places}f}"


def interval(low: float | None, high: float | None) -> str:
    """`low to high`; an end that is None or infinite is no bound."""
    bounded_below = low is not None and math.isfinite(low)
    bounded_above = high is not None and math.isfinite(high)
    if bounded_below and bounded_above:
        return f"{low:.4g} to {high:.4g}"
    if bounded_below:
        return f"at least {low:.4g}"
    return f"at most {high:.4g}" if bounded_above else "anything"
