"""Numbers in words and digits; only digits that their spread justifies are shown."""

import math

MISSING = "–"


def number(value: float | None, digits: int = 4) -> str:
    """Format `value` to `digits` significant digits; a dash for None, words if it is not finite."""
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
    """Format `mean ± deviation`, with one digit of the deviation, or two if the first is 1.

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
    """Round a number to a decimal place; to tens, hundreds, ... for a negative one."""
    shown = f"{round(value, places):,.{max(0, places)}f}"
    return shown if abs(value) >= 10_000 else shown.replace(",", "")


def estimate(value: float, low: float, high: float) -> tuple[str, str]:
    """Format an estimate and its interval, to two digits of the interval's width."""
    if low == high or not all(map(math.isfinite, (value, low, high))):
        return number(value), interval(low, high)
    places = min(max(0, 1 - math.floor(math.log10((high - low) / 2))), 9)
    return f"{value:.{places}f}", f"{low:.{places}f} to {high:.{places}f}"


def interval(low: float, high: float) -> str:
    """Format `low to high`; an infinite end is no bound."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.4g} to {high:.4g}"
    if math.isfinite(low):
        return f"at least {low:.4g}"
    return f"at most {high:.4g}" if math.isfinite(high) else "anything"
