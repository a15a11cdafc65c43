"""The Transformer's forward pass in NumPy, one sentence at a time, from the paper's equations."""

import numpy as np

from tests.attention.oracle import multi_head


def layer_norm(x, parameters):
    """Ba et al. 2016, eq. 4, with Flax's epsilon; squares, not moduli, for complex steps."""
    centered = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-6)
    return centered / deviation * parameters["scale"] + parameters["bias"]


def feed_forward(x, parameters):
    """Vaswani et al. 2017, eq. 2."""
    hidden, out = parameters["hidden"], parameters["out"]
    hidden = x @ hidden["kernel"] + hidden["bias"]
    return np.where(hidden.real > 0, hidden, 0) @ out["kernel"] + out["bias"]


def sinusoidal(length, width):
    """Vaswani et al. 2017, section 3.5."""
    table = np.zeros((length, width))
    for p in range(length):
        for i in range(width // 2):
            angle = p / 10_000 ** (2 * i / width)
            table[p, 2 * i], table[p, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return table


def embed(parameters, words, scale=None):
    """Words [T] -> [T, D], with sines and cosines, or with learned positions if there are any.

    Embeddings are multiplied by `scale`, or by sqrt(D) if it is None.
    """
    table = parameters["embedding"]
    if "position_encoding" in parameters:
        place = parameters["position_encoding"]["embedding"][: len(words)]
    else:
        place = sinusoidal(len(words), table.shape[1])
    return table[words] * (scale or np.sqrt(table.shape[1])) + place


def causal(length):
    """Who sees whom: each word those up to itself."""
    return np.array([[s <= t for s in range(length)] for t in range(length)])


def stack(parameters, x, attend, *, side="", pre_norm):
    """The layers of one side: each `attend`, by its name in the layer, then the network."""

    def sub_layer(x, layer, name, change):
        own, norm = layer[name], layer[f"{name}_residual"].get("norm")
        if pre_norm:
            return x + change(own, layer_norm(x, norm))
        return layer_norm(x + change(own, x), norm)

    number = 0
    while f"{side}layers_{number}" in parameters:
        layer = parameters[f"{side}layers_{number}"]
        for name, change in attend.items():
            x = sub_layer(x, layer, name, change)
        x = sub_layer(x, layer, "feed_forward", lambda own, x: feed_forward(x, own))
        number += 1
    return x


def transformer(parameters, source, given, *, score: str, pre_norm: bool):
    """Logits [T, V] of one sentence: Vaswani et al. 2017, Figure 1; Xiong et al. 2020, Table 1."""

    def normalized_stack(x, side, attend):
        x = stack(parameters, x, attend, side=f"{side}_", pre_norm=pre_norm)
        return layer_norm(x, parameters[f"{side}_residual"]["norm"]) if pre_norm else x

    def to(mask, memory=None):
        def change(own, x):
            over = x if memory is None else memory
            return multi_head(score, own, x, over, over, mask)

        return change

    S, T = len(source), len(given)
    present = np.tile(source != 0, (max(S, T), 1))
    memory = normalized_stack(
        embed(parameters, source), "encoder", {"self_attention": to(present[:S])}
    )
    hidden = normalized_stack(
        embed(parameters, given),
        "decoder",
        {"self_attention": to(causal(T)), "cross_attention": to(present[:T], memory)},
    )
    return hidden @ parameters["embedding"].T


def language_model(parameters, words, *, score: str, pre_norm: bool, scale: float | None):
    """Logits [T, V] of the word after each word of a text: Radford et al. 2018, eq. 2."""
    mask = causal(len(words))
    attend = {"self_attention": lambda own, x: multi_head(score, own, x, x, x, mask)}
    hidden = stack(parameters, embed(parameters, words, scale), attend, pre_norm=pre_norm)
    if pre_norm:
        hidden = layer_norm(hidden, parameters["last_residual"]["norm"])
    table = parameters.get("output_embedding", parameters["embedding"])
    return hidden @ table.T + parameters.get("word_bias", 0)
