"""Recurrent units as loops over NumPy numbers, gate by gate, one text at a time.

The equations are the papers'; every function also takes complex numbers.
"""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def unit(name: str, parameters: dict, carry: tuple, x):
    """One word x [D] after a carry of [W]s, by the name of the unit's class: the new carry."""
    h = carry[-1]
    # One matrix a gate, as the papers write it.
    W = [parameters["input"]["kernel"][:, i : i + len(h)] for i in _starts(parameters, h)]
    U = [parameters["recurrent"][:, i : i + len(h)] for i in _starts(parameters, h)]
    b = [parameters["bias"][i : i + len(h)] for i in _starts(parameters, h)]
    if name == "LSTM":
        i, f, o = (sigmoid(x @ W[k] + h @ U[k] + b[k]) for k in (0, 1, 3))
        c = f * carry[0] + i * np.tanh(x @ W[2] + h @ U[2] + b[2])
        return c, o * np.tanh(c)
    if name == "Elman":
        return (np.tanh(x @ W[0] + h @ U[0] + b[0]),)
    z, r = (sigmoid(x @ W[k] + h @ U[k] + b[k]) for k in (0, 1))
    if name == "GRUResetBefore":
        return ((1 - z) * h + z * np.tanh(x @ W[2] + (r * h) @ U[2] + b[2]),)
    inner = h @ U[2] + parameters["candidate_bias"]
    return ((1 - z) * np.tanh(x @ W[2] + b[2] + r * inner) + z * h,)


def _starts(parameters: dict, h) -> range:
    """Where each gate's columns begin."""
    return range(0, parameters["recurrent"].shape[1], len(h))


def read(name: str, parameters: dict, x, *, backward: bool = False):
    """A text [S, D] from one end to the other: states [S, W] at its own places, the last carry."""
    width = parameters["recurrent"].shape[0]
    carry = (np.zeros(width),) * (2 if name == "LSTM" else 1)
    states = np.zeros((len(x), width), np.result_type(x, parameters["recurrent"]))
    for place in reversed(range(len(x))) if backward else range(len(x)):
        carry = unit(name, parameters, carry, x[place])
        states[place] = carry[-1]
    return states, carry


def encoder(name: str, parameters: dict, x):
    """The last layer's states [S, dirs W] of one text [S, D], and all layers' last carries."""
    final, number = [], 0
    while any(f"{direction}_{number}" in parameters for direction in ("forward", "backward")):
        found = [
            read(name, parameters[part]["unit"], x, backward=part.startswith("backward"))
            for part in (f"forward_{number}", f"backward_{number}")
            if part in parameters
        ]
        x = np.concatenate([states for states, _ in found], -1)
        final.append(tuple(carry for _, carry in found))
        number += 1
    return x, tuple(final)
