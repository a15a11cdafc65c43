"""Show, attend and tell as the paper writes it: pixel by pixel and word by word, float64."""

import numpy as np

from tests.models import recurrence_oracle
from tests.models.decoder_oracle import softmax


def convolved(x, parameters):
    """A 3x3 convolution over [h, w, C] with zeros around it, and ReLU; kernel [3, 3, C, D]."""
    h, w, _ = x.shape
    around = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    y = np.array(
        [
            [
                np.einsum("ijc,ijcd->d", around[i : i + 3, j : j + 3], parameters["kernel"])
                for j in range(w)
            ]
            for i in range(h)
        ]
    )
    y = y + parameters["bias"]
    return np.where(y.real > 0, y, 0)


def pooled(x):
    """The largest of each 2 x 2 by its real part, [h, w, C] -> [h // 2, w // 2, C]."""
    h, w, channels = x.shape
    y = np.zeros((h // 2, w // 2, channels), x.dtype)
    for i, j, c in np.ndindex(y.shape):
        four = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2, c].reshape(-1)
        y[i, j, c] = four[four.real.argmax()]
    return y


def patches(parameters, image, blocks):
    """[P, D], row by row."""
    for number, block in enumerate(blocks):
        image = pooled(image) if number else image
        for place in range(len(block)):
            image = convolved(image, parameters[f"block_{number}_{place}"])
    return image.reshape(-1, image.shape[-1])


def dense(parameters, x):
    return x @ parameters["kernel"] + parameters.get("bias", 0)


def perceptron(parameters, x):
    hidden = dense(parameters["hidden"], x)
    return np.tanh(dense(parameters["out"], np.where(hidden.real > 0, hidden, 0)))


def captioner(parameters, image, given, blocks):
    """Logits [T, V] and weights [T, P]."""
    a = patches(parameters["encoder"], image, blocks)
    carry = tuple(perceptron(parameters[f"begin_{n}"], a.mean(0)) for n in (0, 1))
    score = parameters["attention"]["score"]
    logits, weights = [], []
    for word in parameters["words"][list(given)]:
        h = carry[-1]
        hidden = np.tanh(dense(score["query"], h) + dense(score["key"], a))
        alpha = softmax(hidden @ score["v"])  # eq. 4 and 5
        beta = recurrence_oracle.sigmoid(dense(parameters["beta"], h))
        z = beta * (alpha @ a)  # eq. 13, gated
        carry = recurrence_oracle.unit("LSTM", parameters["unit"], carry, np.append(word, z))
        deep = word + dense(parameters["of_state"], carry[-1]) + dense(parameters["of_context"], z)
        logits.append(parameters["table"] @ deep)  # eq. 7
        weights.append(alpha)
    return np.array(logits), np.array(weights)
