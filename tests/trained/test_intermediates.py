"""Outputs of modules, read and replaced: what comes out is what a model with them would give."""

from pathlib import Path

import jax
import numpy as np
import pytest

import attnjax
from attnjax.attention import Attention, General, MultiHead
from attnjax.data.generated.sequences import Copy
from attnjax.data.special_tokens import START
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.models.rnn_decoders import BahdanauDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.nn.paths import flat, unflat
from attnjax.trained.open_run import OpenRun
from tests import jitted

SOURCE, TARGET = "1 2 3", "3 2"
ACROSS = "decoder_layers_0.cross_attention.out"


@pytest.fixture(scope="module")
def run(tiny_runs) -> OpenRun:
    return attnjax.open(tiny_runs / "tiny" / "scaled" / "seed-0")


def untrained(model: Transformer | Seq2Seq) -> OpenRun:
    task = Copy(symbols=6, longest=3, train=20, valid=1, test=1)
    vocabularies = task.load().vocabularies
    experiment = Experiment(task=task, model=model).with_vocabularies(vocabularies)
    ids = np.ones((1, 2), np.int32)
    given = jitted.init(experiment.model, jax.random.key(0), ids, ids, deterministic=True)
    return OpenRun(
        folder=Path("run"),
        manifest=None,
        experiment=experiment,
        vocabularies=vocabularies,
        params=given["params"],
        finished=True,
    )


def test_a_value_in_its_own_place_changes_no_bit(run):
    seen = run.intermediates(SOURCE, TARGET)
    output = seen.pop("")
    assert {"encoder_layers_0", "decoder_layers_0", ACROSS, "position_encoding"} - {*seen} == {
        "position_encoding"
    }, "source and target are embedded by one module, which is called twice"
    assert seen["encoder_layers_0"].shape == (4, 16), "three words and END"
    assert "encoder_layers_0.self_attention_residual.norm" in seen, "its class calls its base's"
    for path, array in seen.items():
        np.testing.assert_array_equal(run.patched(path, array, SOURCE, TARGET), output, path)


def test_the_output_is_the_models(run):
    source = np.asarray([run.experiment.task.ids(SOURCE, run.text("source"))])
    given = np.asarray([[START, *run.text("target").encode(TARGET)]])
    wanted = jitted.apply(run.model, {"params": run.params}, source, given, deterministic=True)
    np.testing.assert_allclose(run.intermediates(SOURCE, TARGET)[""], wanted[0], atol=1e-5)


def test_at_the_last_layer_another_sources_value_gives_that_sources_output(run):
    other = run.intermediates("3 1 1", TARGET)
    changed = run.patched("decoder_layers_0", other["decoder_layers_0"], SOURCE, TARGET)
    np.testing.assert_array_equal(changed, other[""])
    assert np.abs(changed - run.intermediates(SOURCE, TARGET)[""]).max() > 1e-3


def test_an_output_of_zeros_is_a_map_of_zeros(run):
    arrays = flat(run.params)
    without = unflat({**arrays, f"{ACROSS}.kernel": np.zeros_like(arrays[f"{ACROSS}.kernel"])})
    source = np.asarray([run.experiment.task.ids(SOURCE, run.text("source"))])
    given = np.asarray([[START, *run.text("target").encode(TARGET)]])
    wanted = jitted.apply(run.model, {"params": without}, source, given, deterministic=True)
    patched = run.patched(ACROSS, np.zeros((3, 16)), SOURCE, TARGET)
    np.testing.assert_allclose(patched, wanted[0], atol=1e-5)


def test_what_is_computed_for_each_head_or_step_alone_is_left_out():
    heads = MultiHead(head=Attention(score=General()), heads=2)
    transformer = untrained(
        Transformer(
            width=8,
            num_encoder_layers=0,
            num_decoder_layers=1,
            encoder_layer=EncoderLayer(self_attention=heads),
            decoder_layer=DecoderLayer(self_attention=heads, cross_attention=heads),
        )
    )
    recurrent = untrained(
        Seq2Seq(width=4, encoder=Encoder(width=4), decoder=BahdanauDecoder(width=4))
    )
    for run, there, left_out in (
        (transformer, "decoder_layers_0.self_attention", ".head"),
        (recurrent, "reader", "writer.attention.pool"),
    ):
        seen = run.intermediates(SOURCE, TARGET)
        assert any(there in path for path in seen), [*seen]
        assert not any(left_out in path for path in seen), [*seen]
        output = seen.pop("")
        path = next(path for path in seen if there in path)
        np.testing.assert_array_equal(run.patched(path, seen[path], SOURCE, TARGET), output)
        assert np.abs(run.patched(path, -seen[path], SOURCE, TARGET) - output).max() > 1e-4


def test_a_wrong_path_and_a_wrong_shape_are_named(run):
    with pytest.raises(UserError, match=r"decoder_layer_0.*decoder_layers_0"):
        run.patched("decoder_layer_0", np.zeros((3, 16)), SOURCE, TARGET)
    wanted = r"decoder_layers_0 gives an array \[3, 16\].* is to be replaced by an array \[4, 16\]"
    with pytest.raises(UserError, match=wanted):
        run.patched("decoder_layers_0", np.zeros((4, 16)), SOURCE, TARGET)
    with pytest.raises(UserError, match="module"):
        run.patched("", np.zeros((3, 10)), SOURCE, TARGET)
