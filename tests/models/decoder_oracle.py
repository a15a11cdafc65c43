"""Luong's and Bahdanau's decoders as their papers write them: a sentence, word by word, float64."""

import numpy as np

from tests.models import recurrence_oracle


def softmax(x):
    exponential = np.exp(x - x.max())
    return exponential / exponential.sum()


def recurrent(name: str, parameters: dict, source, given, *, feeding: bool, attention: str | None):
    """Logits [T, V] of one sentence without padding; both sides are lists of ids.

    attention: "dot", "general", "location", "predictive" (of general, D = 2) or "monotonic" (of
    the scaled dot product, D = 1) after the unit (Luong), None (Sutskever), "additive" before it
    (Bahdanau) or "last" in its place (Cho).
    """
    words = parameters["source"][list(source)]
    states, final = recurrence_oracle.encoder(name, parameters["reader"], words)
    decoder = parameters["writer"]
    inputs = parameters["target"][list(given)]
    write = bahdanau if attention in ("additive", "last") else luong
    hidden = write(name, decoder, states, final, inputs, feeding=feeding, attention=attention)
    return np.stack(hidden) @ parameters["output"].T


def unit(name, own, carry, word, more=None, kernel=None):
    """One step on [word; more]; more's rows of the unit's input matrix stand in `kernel`."""
    if more is not None:
        stacked = np.concatenate([own["input"]["kernel"], kernel])
        own, word = own | {"input": {"kernel": stacked}}, np.concatenate([word, more])
    return recurrence_oracle.unit(name, own, carry, word)


def weights(attention, own, h, states, t):
    """Luong et al. 2015, eq. 7 with the scores of section 3.1, eq. 8, eq. 9 and 10, or local-m."""
    places = np.arange(len(states))
    if attention == "monotonic":
        near = abs(places - t) <= 1
        if not near.any():
            return np.zeros(len(states))
        return softmax(np.where(near, states @ h / len(h) ** 0.5, -np.inf))
    if attention == "dot":
        return softmax(states @ h)
    if attention == "location":
        return softmax(h @ own["score"]["weight"][:, places])
    general = states @ (h @ own["score"]["weight"])
    if attention == "general":
        return softmax(general)
    v, hidden = own["align"]["v"], own["align"]["hidden"]["kernel"]
    center = len(states) / (1 + np.exp(-(v @ np.tanh(h @ hidden))))
    near, gaussian = abs(places - center) <= 2, np.exp(-((places - center) ** 2) / 2)
    return np.where(near, gaussian * softmax(np.where(near, general, -np.inf)), 0)


def luong(name, decoder, states, final, inputs, *, feeding, attention):
    carries = [
        tuple(np.concatenate(leaves, -1) for leaves in zip(*layer, strict=True)) for layer in final
    ]
    attentional, hidden = np.zeros_like(carries[0][-1]), []
    for word in inputs:
        fed = (attentional, decoder["unit_0"]["feed"]["kernel"]) if feeding else ()
        carries[0] = unit(name, decoder["unit_0"], carries[0], word, *fed)
        for layer in range(1, len(carries)):
            below = carries[layer - 1][-1]
            carries[layer] = unit(name, decoder[f"unit_{layer}"], carries[layer], below)
        h = carries[-1][-1]
        if attention is None:
            attentional = h
        else:
            own = decoder.get("attention", {})
            context = weights(attention, own, h, states, len(hidden)) @ states
            merged = np.concatenate([context, h]) @ decoder["merge"]["kernel"]
            attentional = np.tanh(merged)  # eq. 5
        hidden.append(attentional)
    return hidden


def bahdanau(name, decoder, states, final, inputs, *, feeding, attention):
    assert not feeding
    s, hidden = np.tanh(final[-1][-1][-1] @ decoder["first"]["kernel"]), []
    for word in inputs:
        if attention == "last":
            context = states[-1]
        else:
            own = decoder["attention"]["score"]
            energy = np.tanh(s @ own["query"]["kernel"] + states @ own["key"]["kernel"])
            context = softmax(energy @ own["v"]) @ states
        deep = np.concatenate([s, context, word]) @ decoder["deep"]["kernel"]
        deep = deep + decoder["deep"]["bias"]
        hidden.append(np.maximum(deep[0::2], deep[1::2]))
        s = unit(name, decoder["unit"], (s,), word, context, decoder["context"]["kernel"])[-1]
    return hidden
