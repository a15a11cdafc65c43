"""A published claim says what its runs are, and a claim on a figure has one."""

from functools import partial

import pytest

from attnjax.errors import UserError
from attnjax.experiment import Ablation, Claim, Difference, Estimand, Value, figures
from attnjax.experiment.ablation import Published
from tests.tiny import base as tiny


def test_a_source_has_a_kind_and_a_kind_a_source():
    claim = partial(Claim, text="it helps", estimand=Value("bleu", "a"), low=20.0)
    with pytest.raises(UserError, match="'it helps' has a source: say its kind, one of figure, se"):
        claim(source="Luong et al. 2015, Table 1")
    with pytest.raises(UserError, match="has a kind or a quote, but no source"):
        claim(kind="reduced")
    with pytest.raises(UserError, match="has a kind or a quote, but no source"):
        claim(quote="+1.3 BLEU")
    with pytest.raises(UserError, match="kind"):
        claim(kind="paper", source="Luong et al. 2015, Table 1")


def test_a_claim_on_a_figure_needs_one_in_equal_units_inside_its_region():
    claim = partial(
        Claim, text="as printed", low=19.0, high=21.0, kind="figure", source="A 2026, Table 1"
    )
    printed = partial(figures, "A 2026", "Table 1", "bleu")

    def ablation(estimand: Estimand, published: tuple[Published, ...]) -> Ablation:
        claims = (claim(estimand=estimand),)
        both = {"a": tiny, "b": tiny}
        return Ablation(base=tiny, variants=both, claims=claims, published=published)

    assert ablation(Value("bleu", "a"), printed({"a": 20.0})).claims
    for estimand, published in (
        (Value("bleu", "a"), ()),
        (Value("bleu", "a"), printed({"b": 20.0})),
        (Value("perplexity", "a"), printed({"a": 20.0})),
        (Value("bleu", "a"), printed({"a": 0.2})),
        (Value("bleu", "a"), printed({"a": 20.0}, why_not="another corpus")),
        (Difference("bleu", "a", "b"), printed({"a": 20.0})),
    ):
        with pytest.raises(UserError, match="'as printed' is on a printed figure: its region"):
            ablation(estimand, published)
