"""Beam search with the tiny Transformer's random weights and 15 target words, by CTranslate2."""

import tempfile

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec
from serve import CORES, serve

LAYERS, WIDTH, FEED_FORWARD, HEADS, VOCABULARY = 4, 128, 256, 4, 10_000
SENTENCES, SHORTEST, LONGEST, BATCH, BEAM, WORDS = 1_000, 8, 21, 64, 5, 15
SYMBOLS = ["<unk>", "<s>", "</s>"]

random = np.random.default_rng(0)


def fill_linear(layer, out_width, in_width):
    """Draw weights of variance 1 / in_width."""
    layer.weight = random.normal(0, in_width**-0.5, (out_width, in_width)).astype(np.float32)
    layer.bias = np.zeros(out_width, np.float32)


def fill_layer(layer):
    """Draw the weights of a layer of the encoder or of the decoder."""
    blocks = {"self_attention": [3 * WIDTH, WIDTH], "attention": [WIDTH, 2 * WIDTH, WIDTH]}
    norms = [layer.ffn.layer_norm]
    for name, widths in blocks.items():
        block = getattr(layer, name, None)
        if block is not None:
            norms.append(block.layer_norm)
            for linear, out_width in zip(block.linear, widths):  # noqa: B905
                fill_linear(linear, out_width, WIDTH)
    fill_linear(layer.ffn.linear_0, FEED_FORWARD, WIDTH)
    fill_linear(layer.ffn.linear_1, WIDTH, FEED_FORWARD)
    for norm in norms:
        norm.gamma, norm.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)


def specification():
    """Specify the model: post-norm, ReLU, one table for source, target and output."""
    spec = transformer_spec.TransformerSpec.from_config(
        (LAYERS, LAYERS), HEADS, pre_norm=False, activation=common_spec.Activation.RELU
    )
    table = random.normal(0, 0.5, (VOCABULARY, WIDTH)).astype(np.float32)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    spec.decoder.projection.bias = np.zeros(VOCABULARY, np.float32)
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = random.normal(size=(256, WIDTH)).astype(np.float32)
        for layer in side.layer:
            fill_layer(layer)
    words = SYMBOLS + [f"word{number}" for number in range(VOCABULARY - len(SYMBOLS))]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    return spec, words[len(SYMBOLS) :]


with tempfile.TemporaryDirectory() as folder:
    spec, words = specification()
    spec.save(folder)
    translator = ctranslate2.Translator(folder, inter_threads=1, intra_threads=CORES)
lengths = random.integers(SHORTEST, LONGEST + 1, SENTENCES)
sources = [[str(word) for word in random.choice(words, length)] for length in lengths]


def call():
    """Translate all sentences; CTranslate2 makes its own batches, sorted by length."""
    translator.translate_batch(
        sources,
        beam_size=BEAM,
        max_batch_size=BATCH,
        max_decoding_length=WORDS,
        min_decoding_length=WORDS,
    )


serve("CTranslate2", ctranslate2.__version__, call)
