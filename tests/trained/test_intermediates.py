"""Outputs of modules, read and replaced: what comes out is what a model with them would give."""

from pathlib import Path

import jax
import numpy as np
import pytest

import attnjax
from attnjax.attention import Attention, General, MultiHead
from attnjax.data.corpus import Task
from attnjax.data.generated.recall import MultiQueryRecall
from attnjax.data.generated.sequences import Copy
from attnjax.data.special_tokens import START
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.lab.trained.open_run import OpenRun
from attnjax.models.labeler import Labeler
from attnjax.models.rnn_decoders import BahdanauDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.nn.paths import flat, unflat
from tests import jitted

SOURCE, TARGET = "1 2 3", "3 2"
ACROSS = "decoder_layers_0.cross_attention.out"


@pytest.fixture(scope="module")
def run(tiny_runs) -> OpenRun:
    return attnjax.open(tiny_runs / "tiny" / "scaled" / "seed-0")


COPY = Copy(symbols=6, longest=3, train=20, valid=1, test=1)


def untrained(model: Transformer | Seq2Seq | Labeler, task: Task = COPY) -> OpenRun:
    vocabularies = task.load().vocabularies
    experiment = Experiment(task=task, model=model).with_vocabularies(vocabularies)
    ids = np.ones((1, 2), np.int32)
    asked = np.ones((1, 2, 2), np.int32) if model.gives_labels else ids
    given = jitted.init(experiment.model, jax.random.key(0), ids, asked, deterministic=True)
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


@pytest.mark.parametrize(
    "array, got",
    [
        ("text", "real numbers; got str 'text'"),
        (None, "real numbers; got None"),
        ([[1.0] * 16, [1.0] * 15, [1.0] * 16], "numbers; got rows of several lengths"),
        (np.full((3, 16), 1j), "real numbers; got ndarray"),
        (np.full((3, 16), None), "real numbers; got ndarray"),
        (np.full((3, 16), "1"), "real numbers; got ndarray"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_refused(run, array, got):
    """Ragged lists were a traceback; None was taken for NaN, and half of a complex number."""
    with pytest.raises(UserError, match=got) as caught:
        run.patched("decoder_layers_0", array, SOURCE, TARGET)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="the path of a module must be a text"):
        run.patched(["decoder_layers_0"], array, SOURCE, TARGET)


WRONG = (None, [], 3, [0.5], [True], [[1], [1, 2]], [[1, 2]], [3, 10], [-1], [2**40], b"1", ["1"])


@pytest.mark.parametrize("source", WRONG)
def test_a_source_of_no_ids_is_refused(run, source):
    """Ids beyond the vocabulary were answered, as if they were the last."""
    for answer in (run.intermediates, run.attention):
        for target in (TARGET, None):
            with pytest.raises(UserError, match="the source must be") as caught:
                answer(source, target)
            assert "\n" not in str(caught.value)


def test_a_labeler_is_asked_for_the_labels_of_all_words():
    """It said that it wants another task."""
    task = MultiQueryRecall(train=20, valid=1, test=1)
    run = untrained(Labeler(width=8, num_layers=1), task)
    read = task.load().splits["test"][0].source
    seen = run.intermediates(read)
    output = seen.pop("")
    assert output.shape == (len(read), len(run.text("target").pieces))
    np.testing.assert_array_equal(run.patched("layers_0", seen["layers_0"], read), output)
    (heads,) = run.attention(read).values()
    assert heads.weights.shape[1:] == (len(read), len(read))
    with pytest.raises(UserError, match="a Labeler reads no target; got '1'"):
        run.intermediates(read, "1")


@pytest.mark.parametrize("asked", [{"most": 0}, {"most": "3"}, {"most": 1, "extra": 10**9}])
def test_a_wrong_number_of_answers_is_one_sentence(run, asked):
    (name,) = [*asked][-1:]
    with pytest.raises(UserError, match=rf"{name}: wanted a whole number from \d to 10,000; got"):
        run.n_best([SOURCE], **asked)


def test_lines_may_be_read_once(run):
    """Lines of a generator were all taken by their check, and none was answered."""
    assert len(run.translate(line for line in [SOURCE])) == 1
    with pytest.raises(UserError, match="a list of texts was wanted; got None"):
        run.translate(None)
