"""The settings called `paper` have the numbers that the papers print."""

from functools import reduce
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util

from attnjax.config.vary import vary
from attnjax.data import Forward, MosesWords, Reversed, Vocabularies
from attnjax.evaluation.bleu import Bleu
from attnjax.experiment import Ablation, Experiment
from attnjax.experiment.load import load
from attnjax.nn.initializers import UniformInit
from attnjax.training import TeacherForcing
from attnjax.training.optimizers import Adadelta
from attnjax.training.schedules import Constant

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
WORDS = 30
"""Of a sentence, by which rates for means over sentences become rates for means over words."""
NUMBERS = {
    # Sutskever et al. 2014, sections 3.1, 3.2 and 3.4; 12 million pairs in batches of 128
    ("sutskever2014", "paper"): {
        "forward reversed": {
            "task.vocabulary": MosesWords(language="en", max_size=160_000),
            "task.target_vocabulary": MosesWords(language="fr", max_size=80_000),
            "task.train": "train[:12000000]",
            "model.width": 1000,
            "model.encoder.layers": 4,
            "model.encoder.width": 1000,
            "model.decoder.layers": 4,
            "model.decoder.width": 1000,
            "model.decoder.attention": None,
            "model.initializer": UniformInit(scale=0.08),
            "optimizer.schedule.value": 0.7 * WORDS,
            "optimizer.schedule.after": 5 * 12_000_000 // 128,
            "optimizer.schedule.every": 12_000_000 // 128 // 2,
            "optimizer.clip": 5 / WORDS,
            "training.steps": 7.5 * 12_000_000 // 128,
            "training.batching.batch_size": 128,
            "search.size": 12,
        },
    },
    # Luong et al. 2015, section 4.1; 4.5 million pairs in batches of 128
    ("luong2015", "paper"): {
        "forward reverse dropout no_feeding location dot general local_p_general replaced": {
            "task.vocabulary": MosesWords(language="en", max_size=50_000),
            "task.target_vocabulary": MosesWords(language="de", max_size=50_000),
            "task.max_length": 50,
            "model.width": 1000,
            "model.encoder.layers": 4,
            "model.decoder.layers": 4,
            "model.decoder.width": 1000,
            "model.initializer": UniformInit(scale=0.1),
            "optimizer.schedule.value": 1.0 * WORDS,
            "optimizer.schedule.every": 4_500_000 // 128,
            "optimizer.clip": 5 / WORDS,
            "training.batching.batch_size": 128,
        },
        "forward reverse": {
            "model.dropout": 0.0,
            "optimizer.schedule.after": 5 * 4_500_000 // 128,
            "training.steps": 10 * 4_500_000 // 128,
        },
        "dropout no_feeding location dot general local_p_general replaced": {
            "model.dropout": 0.2,
            "optimizer.schedule.after": 8 * 4_500_000 // 128,
            "training.steps": 12 * 4_500_000 // 128,
        },
    },
    # Xu et al. 2015, sections 4.2 and 4.3, and the authors' program
    ("xu2015", "paper"): {
        "soft doubly_stochastic hard": {
            "task.vocabulary.max_size": 10_000,
            "model.dropout": 0.5,
            "training.batching.batch_size": 64,
        },
        "doubly_stochastic": {"objective.penalty": 1.0},
        "hard": {"objective.reward": 1.0, "objective.entropy": 0.002},
    },
    # Devlin et al. 2019, sections 3 and 4, appendix A.2 and A.3
    ("bert", "paper"): {
        "prose verse after_prose after_verse scratch": {
            "model.bert.num_layers": 12,
            "model.bert.width": 768,
            "model.bert.layer.self_attention.heads": 12,
            "model.bert.layer.feed_forward.width": 3072,
            "model.bert.layer.feed_forward.activation": "gelu",
            "model.bert.dropout": 0.1,
        },
        "prose verse": {
            "objective.rate": 0.15,
            "optimizer.b2": 0.999,
            "optimizer.schedule.peak": 1e-4,
            "optimizer.schedule.warmup": 10_000,
            "training.steps": 1_000_000,
            "training.batching.batch_size": 256,
            "training.batching.max_tokens": 256 * 512,
        },
        "after_prose after_verse scratch": {
            "optimizer.schedule.peak": 2e-5,
            "training.batching.batch_size": 32,
        },
    },
    # Lake and Baroni 2018, section 3
    ("scan", "paper"): {
        "simple length length_attention": {
            "objective": TeacherForcing(smoothing=0.0, probability=0.5),
            "optimizer.schedule.value": 1e-3,
            "optimizer.clip": 5.0,
            "training.steps": 100_000,
            "training.batching.batch_size": 1,
            "model.dropout": 0.5,
        },
        "simple length": {"model.width": 200, "model.decoder.layers": 2},
        "length_attention": {"model.width": 50},
    },
}
# Vaswani et al. 2017, sections 5.1 to 5.4, 6.1 and Table 3; the last is P_drop of the big model
for setting, pieces, dropout in (("paper", 37_000, 0.3), ("paper_fr", 32_000, 0.1)):
    NUMBERS["vaswani2017", setting] = {
        "base big": {
            "task.vocabulary.size": pieces,
            "model.num_encoder_layers": 6,
            "model.num_decoder_layers": 6,
            "objective.smoothing": 0.1,
            "optimizer.schedule.warmup": 4_000,
            "optimizer.schedule.factor": 1.0,
            "optimizer.b1": 0.9,
            "optimizer.b2": 0.98,
            "optimizer.epsilon": 1e-9,
            "training.batching.max_tokens": 25_000,
            "search.size": 4,
            "search.length_penalty.alpha": 0.6,
        },
        "base": {
            "model.width": 512,
            "model.encoder_layer.feed_forward.width": 2048,
            "model.decoder_layer.cross_attention.heads": 8,
            "model.dropout": 0.1,
            "optimizer.schedule.width": 512,
            "training.steps": 100_000,
        },
        "big": {
            "model.width": 1024,
            "model.encoder_layer.feed_forward.width": 4096,
            "model.decoder_layer.cross_attention.heads": 16,
            "model.dropout": dropout,
            "optimizer.schedule.width": 1024,
            "training.steps": 300_000,
        },
    }
# Bahdanau et al. 2015, section 4.2, appendix B and Table 2
for words, search, encdec in ((50, 288_000, 600_000), (30, 471_000, 846_000)):
    NUMBERS["bahdanau2015", "paper" if words == 50 else "paper_30"] = {
        "search encdec": {
            "task.vocabulary": MosesWords(language="en", max_size=30_000),
            "task.target_vocabulary": MosesWords(language="fr", max_size=30_000),
            "task.max_length": words,
            "model.width": 620,
            "model.encoder.width": 1000,
            "model.decoder.width": 1000,
            "model.decoder.maxout": 500,
            "optimizer.rho": 0.95,
            "optimizer.clip": 1 / WORDS,
            "training.batching.batch_size": 80,
        },
        "search": {"training.steps": search, "model.decoder.attention.score.width": 1000},
        "encdec": {"training.steps": encdec},
    }


def test_sutskever_reads_the_source_reversed_and_its_end_last():
    variants = open_setting("sutskever2014", "paper").variants
    orders = {name: type(one.task.source_order) for name, one in variants.items()}
    assert orders == {"forward": Forward, "reversed": Reversed}
    assert {one.model.encoder.direction for one in variants.values()} == {"forward"}


@pytest.mark.parametrize(("name", "setting"), NUMBERS)
def test_the_papers_numbers(name, setting):
    ablation = open_setting(name, setting)
    for variants, numbers in NUMBERS[name, setting].items():
        for variant in variants.split():
            found = {path: value(ablation.variant(variant), path) for path in numbers}
            assert found == pytest.approx(numbers), variant


def open_setting(name: str, setting: str) -> Ablation:
    return load(EXPERIMENTS / f"{name}.py").ablation.at(setting)


def value(experiment: Experiment, path: str) -> Any:
    return reduce(getattr, path.split("."), experiment)


def test_a_paper_batch_holds_its_number_of_the_longest_training_sentences():
    for name, setting in NUMBERS:
        experiment = open_setting(name, setting).base
        batching = experiment.training.batching
        limit = getattr(experiment.task, "max_length", None)
        if limit is not None:
            # the end of a sentence is a symbol, too
            rows = batching.max_tokens // (limit + 1)
            assert rows >= batching.batch_size_multiple
            assert limit > 50 or rows >= (batching.batch_size or 0)


@pytest.mark.long
def test_bahdanaus_first_values():
    """Appendix B.1: recurrent matrices orthogonal, V_a and biases 0, N(0, 0.001^2) and 0.01^2."""
    ablation = open_setting("bahdanau2015", "paper")
    text = jnp.full((2, 5), 4)
    for variant, experiment in ablation.variants.items():
        small = dict.fromkeys(("width", "encoder.width", "decoder.width", "decoder.maxout"), 64)
        if variant == "search":
            small["decoder.attention.score.width"] = 64
        model = vary(experiment.model, small).with_vocabularies(50, 60)
        params = model.init(jax.random.key(0), text, text, deterministic=True)["params"]
        for name, array in traverse_util.flatten_dict(params, sep=".").items():
            if name.endswith((".recurrent", "bias", "score.v")):
                gates = array.reshape(64, -1, 64)[:, 0] if name.endswith("recurrent") else array
                wanted = np.eye(64) if gates.ndim == 2 else 0 * gates
                found = gates @ gates.T if gates.ndim == 2 else gates
                np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=name)
            else:
                std = 0.001 if ".score." in name else 0.01
                assert array.std() == pytest.approx(std, rel=0.1), (variant, name)


def test_adadelta_for_means_over_words_is_the_papers_for_means_over_sentences():
    """Gradients 30 times smaller, and the same updates: Bahdanau et al. 2015, appendix B.2."""
    ours = open_setting("bahdanau2015", "paper").base.optimizer
    assert isinstance(ours, Adadelta)
    paper = vary(ours, {"schedule": Constant(value=1.0), "epsilon": 1e-6, "clip": 1.0})
    transforms = ours.make(), paper.make()
    params = jnp.zeros(64)
    states = [transform.init(params) for transform in transforms]
    for step in range(20):
        gradient = 10.0 ** jax.random.uniform(jax.random.key(step), 64, minval=-5.0, maxval=0.5)
        updates = []
        for number, (transform, scale) in enumerate(zip(transforms, (1 / WORDS, 1.0), strict=True)):
            update, states[number] = transform.update(scale * gradient, states[number], params)
            updates.append(np.asarray(update))
        np.testing.assert_allclose(*updates, rtol=1e-4)


def test_bleu_counts_the_words_that_moses_finds():
    """As multi-bleu.perl did: an answer and its reference are tokenized text."""
    experiment = open_setting("luong2015", "paper").base
    german = MosesWords(language="de").learn(["zu spät ,"])
    english = MosesWords(language="en").learn(["late ,"])
    metric = experiment.with_vocabularies(Vocabularies(english, german)).metric
    assert metric == Bleu(tokenize="none", smooth="none")
    assert german.plain("zu spät,") == german.decode(german.encode("zu spät ,")) == "zu spät ,"
