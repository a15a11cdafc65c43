"""A beam of several hypotheses over today's attentions: its scores are the parallel call's."""

import jax
import numpy as np
import pytest

from attnjax.data.special_tokens import PAD, START
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import generate
from attnjax.decoding.length_penalty import NoPenalty
from tests import jitted
from tests.models.mixed import PAIRS, mixed
from tests.models.small import SOURCE, initial

BEAMS, EXTRA = 3, 5
OFTEN = "selective heads and Taylor features", "gated delta rule and forgetting"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.long) for name in PAIRS],
)
def test_a_beam_of_hypotheses_has_the_scores_of_the_parallel_call(name):
    model = mixed(name)
    params = initial(model)
    params["embedding"] *= 2  # sharper choices
    search = Beam(size=BEAMS, length_penalty=NoPenalty())
    found = jax.device_get(generate(model, params, SOURCE, search, extra=EXTRA))
    rows = found.tokens.reshape(-1, found.tokens.shape[-1])
    given = np.concatenate([np.full((len(rows), 1), START), rows[:, :-1]], axis=1)
    sources = np.repeat(SOURCE, BEAMS, axis=0)
    logits = jitted.apply(model, {"params": params}, sources, given, deterministic=True)
    scored = np.float64(logits)
    scored -= np.logaddexp.reduce(scored, axis=-1, keepdims=True)
    each = np.take_along_axis(scored, rows[..., None], axis=-1)[..., 0]
    scores = np.where(rows != PAD, each, 0).sum(-1).reshape(-1, BEAMS)
    np.testing.assert_allclose(found.scores, scores, rtol=0, atol=2e-5)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    texts = {tuple(row) for row in found.tokens[0].tolist()}
    assert len(texts) == BEAMS, "several hypotheses"
    assert (found.tokens != PAD).sum(-1).max() > 2
