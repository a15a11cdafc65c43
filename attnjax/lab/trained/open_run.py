"""A trained run in use: `run = attnjax.open("runs/luong2015/dot/seed-10")`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.constraints import LARGEST
from attnjax.config.override import Override
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.generate import EXTRA
from attnjax.errors import UserError, warn
from attnjax.lab.reporting.notebook import show
from attnjax.lab.trained.intermediates import OUTPUT, check_source, outputs_with
from attnjax.lab.trained.predict import (
    MAX_SYMBOLS,
    Answer,
    answers,
    check_count,
    check_text,
    encoded,
    gives_labels,
    label_probabilities,
    listed,
    next_symbols,
    read_source,
)
from attnjax.lab.trained.trained_run import Trained, ensemble, open_trained, with_overrides
from attnjax.models.base import Model, SymbolModel
from attnjax.models.sequence_model import SequenceModel
from attnjax.models.sown_attention import QueryKeyWords, WordKind


class HeadWeights(NamedTuple):
    """The weights [H, T, S] of the heads of one attention, and the words of queries and keys."""

    name: str
    weights: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def _repr_html_(self) -> str:
        return show(self.weights, self.rows, self.columns)._repr_html_()


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenRun(Trained):
    """A trained run with its model, parameters and vocabularies; several act as one.

    Several runs answer by the mean of their probabilities, see `ensemble`.
    """

    @property
    def model(self) -> Model:
        """The model, with its vocabulary sizes; `model.apply({"params": params}, ...)` calls it."""
        return self.experiment.model

    def translate(
        self, lines: Sequence[str], *, beam: int | None = None, extra: int = EXTRA
    ) -> list[str]:
        """Return the answer to each line, "" for an empty one; language models continue it."""
        best = self.n_best(lines, 1, beam=beam, extra=extra)
        return [ranked[0].text if ranked else "" for ranked in best]

    def n_best(
        self,
        lines: Sequence[str],
        most: int,
        *,
        beam: int | None = None,
        max_symbols: int = MAX_SYMBOLS,
        extra: int = EXTRA,
        origin: str = "the input",
        first: int = 1,
    ) -> list[list[Answer]]:
        """Return the `most` best answers to each line, the best first; an empty line has none.

        A language model goes on with the line. `beam` is as in `evaluate`, `max_symbols` the limit
        of a line; an answer may have `extra` symbols more than its line. Errors name the `origin`
        of the lines, and count from `first`.

        Raises:
            UserError: a line is too long, the lines are one text, the source or the target of the
                run's task is not text, or the search has fewer hypotheses.
        """
        lines = listed(lines)
        check_count(most, "most", 1)
        check_count(extra, "extra", 0)
        asked = [(number, line) for number, line in enumerate(lines, start=first) if line.strip()]
        written = [line for _, line in asked]
        sources = encoded(self, asked, origin, max_symbols)
        numbers = [number - 1 for number, _ in asked]  # a line's draws are those of its number
        decoded = iter(
            answers(self, written, sources, beam, most=most, extra=extra, numbers=numbers)
        )
        return [next(decoded) if line.strip() else [] for line in lines]

    def classify(self, lines: Sequence[str]) -> list[dict[str, float]]:
        """Return the probability of each label for each line, the most probable label first.

        Raises:
            UserError: the model gives no labels, or the lines are one text.
        """
        if not gives_labels(self):
            raise UserError(f"{self.folder} gives no labels: its answers are sentences")
        return label_probabilities(self, encoded(self, enumerate(listed(lines), start=1)))

    def next(self, prompt: str, *, most: int = 10) -> dict[str, float]:
        """Return the most probable symbols after a prompt, with their probabilities.

        Raises:
            UserError: the model predicts no symbols, or the prompt is empty or too long.
        """
        check_count(most, "most", 1, LARGEST)
        if not isinstance(self.model, SymbolModel) or not prompt:
            raise UserError("next wants a language model, and a prompt that is not empty")
        (probabilities,) = next_symbols(self, encoded(self, [(1, prompt)], "the prompt"))
        best = np.argsort(-probabilities, kind="stable")[:most]
        names = self.text("target").tokens(best.tolist())
        return dict(zip(names, probabilities[best].tolist(), strict=True))

    def attention(
        self, source: str | np.ndarray, target: str | None = None
    ) -> dict[str, HeadWeights]:
        """Return the weights of every attention of the model, by the attention's path in the model.

        A row of an attention to the source is named by the target's word that it predicts, any
        other row by the word that it reads. `source` is an array where the sources are no text;
        `target` are the decoder's words, with which a language model goes on; None: the run's own
        answer, or nothing for a language model whose task has no answers.

        Raises:
            UserError: the model shows no attention, a text is too long, or the source has no
                symbols.
        """
        read, given, written = self._read(source, target)
        attentions = _attentions(self.model, self.params, read[None], given[None])
        if not attentions:
            raise UserError(f"a {type(self.model).__name__} shows no attention")
        source_names, target_names = self.vocabularies

        def words(kind: WordKind, ids: Any, count: int) -> tuple[str, ...]:
            names = target_names if kind in ("target", "inputs") else source_names
            if kind == "target" and written:
                ids = [written]
            if ids is None or names is None:
                return (*map(str, range(count)),)
            return (*names.tokens(np.asarray(ids)[0].tolist()),)

        heads = {}
        for (_, name, *kinds), (weights, ids) in jax.device_get(attentions).items():
            sides = zip(kinds, ids, weights.shape[1:], strict=True)
            heads[name] = HeadWeights(name, weights, *(words(*side) for side in sides))
        return heads

    def intermediates(
        self, source: str | np.ndarray, target: str | None = None
    ) -> dict[str, np.ndarray]:
        """Return the output of every module of the model by its path; its own has the path "".

        An array is [T, D] or of more axes, without one for examples. The residual stream after a
        layer is the output of the layer, "layers_0". Source and target are as in `attention`; left
        out are modules that are called more than once, or once for each head or each step.

        Raises:
            UserError: a text is too long, or the source has no symbols.
        """
        return self._outputs(source, target, {})

    def patched(
        self, path: str, array: Any, source: str | np.ndarray, target: str | None = None
    ) -> np.ndarray:
        """Return the model's output if the output of the module at a path is replaced by an array.

        All that comes after the module is computed from the array: where another source's value
        at one place turns the prediction into that source's, the module carries it there.

        Raises:
            UserError: as `intermediates`; or `intermediates` has no such path, or another shape.

        Source: Vig et al. 2020 (causal mediation analysis); Meng et al. 2022, section 2.
        """
        check_text(path, "the path of a module")
        return self._outputs(source, target, {path: array})[OUTPUT]

    def _outputs(
        self, source: str | np.ndarray, target: str | None, arrays: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        read, given, _ = self._read(source, target)
        return outputs_with(self.model, self.params, read, given, arrays)

    def _read(
        self, source: str | np.ndarray, target: str | None
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Return the source and the decoder's input as the model reads them, and the target's ids.

        The ids are of the target that is given, or of the run's own answer. A model that gives
        labels to words is asked for those of all words.
        """
        text = isinstance(source, str)
        read = encoded(self, [(1, source)], "the source")[0] if text else source
        read = read_source(self, read)
        if self.model.gives_labels:
            if target is not None:
                raise UserError(f"a {type(self.model).__name__} reads no target; got {target!r}")
            return read, np.stack([np.arange(len(read)), np.full(len(read), PAD)], -1), []
        check_source(self.model, self.params, read)
        written = self._written(read, target)
        return read, np.asarray([START, *written[:-1]]), written

    def _written(self, source: Any, target: str | None) -> list[int]:
        """Return the ids of a target, or of the run's own answer."""
        experiment = self.experiment
        answered = isinstance(self.model, SequenceModel) and experiment.task.answers is not None
        if target is not None:
            check_text(target, "the target")
            ids = self.text("target").encode(target)
            return [*ids, END] if answered and not self.model.predicts_label else ids
        if not answered:
            return []
        (answer,) = experiment.answers(self.params, [source])
        return [word for word in answer if word != PAD]


def open(*runs: str | Path, trust: bool = False, overrides: Sequence[Override] = ()) -> OpenRun:
    """Open trained runs from their folders; several act as one, see `OpenRun`.

    A warning names each run whose training is not finished. `trust` executes an experiment.py
    whose text is in no file of the user's; overrides are of the search, of measures, of heads_out.

    Raises:
        UserError: as `open_trained`, `ensemble` and `with_overrides`.
    """
    if not runs:
        raise UserError("give the folder of at least one run")
    heads = [change for change in overrides if change.path.split(".")[-1] == "heads_out"]
    others = [change for change in overrides if change not in heads]
    for change in others:
        if change.path.split(".")[0] not in ("search", "measures"):
            raise UserError(
                "a trained run takes overrides of its search, its measures and of heads_out alone; "
                f"got {change}"
            )
    members = [with_overrides(open_trained(Path(run), trust=trust), heads) for run in runs]
    for run in members:
        if not run.finished:
            warn(f"the training of {run.folder} is not finished; these are its results so far:")
    return OpenRun(**vars(with_overrides(ensemble(members), others)))


@partial(jax.jit, static_argnames="model")
def _attentions(
    model: Model, params: Any, source: Any, decoder_input: Any
) -> dict[tuple[int, str, WordKind, WordKind], tuple[jax.Array, QueryKeyWords]]:
    """Return the weights and words of each attention by its number, name, rows and columns."""
    return {
        (number, layer.name, *layer.kinds(source, decoder_input)): (
            layer.weights[0].astype(jnp.float32),
            layer.words,
        )
        for number, layer in enumerate(model.attentions(params, source, decoder_input))
    }
