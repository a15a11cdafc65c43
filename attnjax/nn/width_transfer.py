"""How parameters of a model go with its width, so that one learning rate suits all widths (muP).

In a maximal update parametrization each update changes the vectors of every layer by numbers of a
size that no width changes. D is the width of the model, D_0 that at which its rates were tuned:

                                  standard deviation     rate of Adam     multiplied by
    embeddings, biases, scales    as at D_0              as at D_0        1
    linear maps                   times sqrt(D_0 / D)    times D_0 / D    1
    logits                                                                D_0 / D
    query . key                                                           sqrt(K_0) / K

K is the width of a head's keys, K_0 that at D_0. At D = D_0 all of it is the usual model.

Source: Yang et al. 2022 (Tensor Programs V), Table 8, which one embedding for input and output
allows; Definition 4.1 for the attention.
"""

from collections.abc import Mapping

from attnjax.errors import UserError, named
from attnjax.nn.parameter_kinds import Kind, kind_of

EMBEDDINGS = ("embedding", "source_embedding", "output_embedding")
"""Of words, below no part of the model, and of positions."""

type ParameterShapes = Mapping[str, tuple[int, ...]]
"""The shape of each parameter of a model, by its path with dots."""


def widening(shapes: ParameterShapes, base_width: int) -> float:
    """Return D / D_0 for a model with parameters of these shapes.

    All that is within the model is taken to grow with D: the hidden layers of its feed-forward
    networks, and the sum of its heads' widths.

    Raises:
        UserError: no embedding of words says what D is, or of a parameter it is not known how it
            goes with the width.
    """
    widths = [shape[-1] for name, shape in shapes.items() if name in EMBEDDINGS]
    if not widths:
        raise UserError(
            "base_width wants a model with an embedding of words, which says how wide the model "
            f"is; its parameters are {named(shapes)}"
        )
    for name in shapes:
        known = is_linear_map(name) or name.rpartition(".")[2] in EMBEDDINGS
        if not known and kind_of(name) is Kind.WEIGHT:
            raise UserError(
                "base_width wants a model of linear maps, embeddings, biases and scales alone; how "
                f"{name} goes with the width is not known"
            )
    return widths[0] / base_width


def is_linear_map(name: str) -> bool:
    """Return whether a parameter, by its path, is the matrix of a linear map."""
    return name.rpartition(".")[2] == "kernel"
