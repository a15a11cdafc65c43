"""Secrets are not printed."""

from hypothesis import given
from hypothesis.strategies import sampled_from, text

from launch.secret import masked

NAMES = ("WANDB_API_KEY", "hf_token", "MY_SECRET", "PASSWORD", "password")
WORD = text("abcdefghijklmnop0123456789-+/", min_size=9)


@given(sampled_from(NAMES), WORD, sampled_from(["", "'", '"']))
def test_the_value_of_a_secret_is_masked(name, value, quote):
    shown = masked(f"export {name}={quote}{value}{quote}\necho done")
    assert value not in shown
    assert f"export {name}=***\necho done" == shown


@given(WORD)
def test_other_lines_are_shown_as_they_are(value):
    line = f"export ATTNJAX_DATA={value}\nsrun python -m attnjax run {value} --model.width 8"
    assert masked(line) == line
