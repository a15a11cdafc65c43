"""What a run's score is computed from, a row a sentence.

A run keeps it, so that its score can be had again of some of the sentences (`by_length`), or of
sentences drawn with replacement (`significance`), and no text is split into words for it again.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from attnjax.config.serialize import parse_json
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError
from attnjax.evaluation.bleu import Protocol, protocol
from attnjax.evaluation.pairs import check_pairs

FILE = "sentences.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences:
    """Sentences as far as a score needs them.

    Attributes:
        metric: the score's name.
        protocol: how BLEU was made; None: it is no BLEU.
        lengths: the symbols of each source, its END not counted, int64 [N]; None: sources are no
            text.
        statistics: int64 [N, C], whose sum over sentences a corpus' score is computed from: as
            `bleu.Protocol.statistics`, or for exact match 1 where the answer is right, and 1.
    """

    metric: str
    protocol: Protocol | None
    lengths: np.ndarray | None
    statistics: np.ndarray

    def value(self, times: np.ndarray | None = None) -> float:
        """The score of a corpus that has each sentence so many times, int [N]; None: once."""
        total = self.statistics.sum(0) if times is None else times @ self.statistics
        if self.protocol is None:
            right, count = total.tolist()
            return right / count
        return self.protocol.value(total)

    def at(self, places: np.ndarray) -> "Sentences":
        """The sentences at these places."""
        return Sentences(
            metric=self.metric,
            protocol=self.protocol,
            lengths=None if self.lengths is None else self.lengths[places],
            statistics=self.statistics[places],
        )

    def comparable(self, other: "Sentences") -> bool:
        """Whether the other's score is made alike, of sources that are as long, one by one."""
        return (
            (self.metric, self.protocol) == (other.metric, other.protocol)
            and len(self.statistics) == len(other.statistics)
            and _listed(self.lengths) == _listed(other.lengths)
        )

    def write(self, folder: Path) -> None:
        """Write them into a run's folder."""
        content = {
            "metric": self.metric,
            "protocol": self.protocol and vars(self.protocol),
            "lengths": _listed(self.lengths),
            "statistics": self.statistics.tolist(),
        }
        (folder / FILE).write_text(json.dumps(content) + "\n", encoding="utf-8")


def _listed(lengths: np.ndarray | None) -> list[int] | None:
    return None if lengths is None else lengths.tolist()


def sentences(
    metric: Literal["exact_match", "bleu"],
    vocabulary: Vocabulary,
    hypotheses: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int] | None,
) -> Sentences:
    """Sentences under the metric of their task, by the protocol of the target's vocabulary.

    Raises:
        UserError: on different counts, or nothing to score.
    """
    check_pairs(hypotheses, references)
    if metric == "bleu":
        made = protocol(vocabulary)
        statistics = made.statistics(hypotheses, references)
    else:
        made = None
        pairs = zip(hypotheses, references, strict=True)
        statistics = np.asarray([(hypothesis == reference, 1) for hypothesis, reference in pairs])
    return Sentences(
        metric=metric,
        protocol=made,
        lengths=None if lengths is None else np.asarray(lengths, np.int64),
        statistics=statistics.astype(np.int64),
    )


def read(folder: Path) -> Sentences | None:
    """What `Sentences.write` wrote into a run's folder; None: nothing was decoded there.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / FILE
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        made, lengths = content["protocol"], content["lengths"]
        return Sentences(
            metric=content["metric"],
            protocol=None if made is None else Protocol(**made),
            lengths=None if lengths is None else np.asarray(lengths, np.int64),
            statistics=np.asarray(content["statistics"], np.int64),
        )
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}") from error
