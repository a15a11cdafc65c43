"""BLEU (Papineni et al. 2002) by sacrebleu, under the two protocols that papers use.

sacrebleu is imported when something is scored: importing this module costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnjax.data.vocabulary import Vocabulary, WordVocabulary
from attnjax.evaluation.pairs import check_pairs

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

ORDERS = 4


class BleuScore(NamedTuple):
    """A BLEU score that says how it was made.

    Attributes:
        value: in [0, 100].
        signature: sacrebleu's, with its version.
        detail: the n-gram precisions, brevity penalty and both lengths, as fairseq prints them.
    """

    value: float
    signature: str
    detail: str


@dataclass(frozen=True)
class Protocol:
    """How text is split into words before BLEU, and what a missing n-gram order counts.

    Attributes:
        tokenize: sacrebleu's name of the tokeniser; "none" splits at spaces.
        smooth: sacrebleu's name of the smoothing.
    """

    tokenize: str
    smooth: str

    def _metric(self) -> "BLEU":
        from sacrebleu.metrics.bleu import BLEU

        # force: text that is tokenised on purpose is no mistake to warn of
        return BLEU(
            tokenize=self.tokenize, smooth_method=self.smooth, force=self.tokenize == "none"
        )

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> BleuScore:
        """BLEU of a corpus with one reference a sentence.

        Raises:
            UserError: on different counts, or nothing to score.
        """
        check_pairs(hypotheses, references)
        metric = self._metric()
        result = metric.corpus_score(list(hypotheses), [list(references)])
        return BleuScore(result.score, metric.get_signature().format(), _detail(result))

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """What BLEU is computed from, a row a sentence, int64 [N, 10]; a corpus is the rows' sum.

        Columns: hypothesis length, reference length, matching n-grams and all n-grams of the
        hypothesis for n = 1 to 4.

        Raises:
            UserError: on different counts, or nothing to score.
        """
        check_pairs(hypotheses, references)
        metric = self._metric()
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            result = metric.corpus_score([hypothesis], [[reference]])
            rows.append([result.sys_len, result.ref_len, *result.counts, *result.totals])
        return np.asarray(rows, np.int64)

    def value(self, statistics: np.ndarray) -> float:
        """BLEU of summed statistics [10], in [0, 100]."""
        from sacrebleu.metrics.bleu import BLEU

        hypothesis, reference, *counts = (int(count) for count in statistics)
        return BLEU.compute_bleu(
            counts[:ORDERS], counts[ORDERS:], hypothesis, reference, smooth_method=self.smooth
        ).score


SACREBLEU = Protocol(tokenize="13a", smooth="exp")
"""Of plain text: sacrebleu's default, case counts. Post 2018."""

MULTI_BLEU = Protocol(tokenize="none", smooth="none")
"""Of text that is tokenised already, as it is: the number that ``multi-bleu.perl`` gives.

Lower-cased, tokenised text with its subwords joined is the protocol of Multi30k's figures (Wu et
al. 2021). Comparable only where the tokenisation is the same."""


def protocol(vocabulary: Vocabulary) -> Protocol:
    """The protocol of text of this vocabulary.

    Text that came ready-split into words is scored by these words, as its published figures are;
    other text by sacrebleu's own tokeniser.
    """
    return MULTI_BLEU if isinstance(vocabulary, WordVocabulary) else SACREBLEU


def _detail(result: Any) -> str:
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    return (
        f"BLEU{ORDERS} = {result.score:.2f}, {precisions} "
        f"(BP={result.bp:.3f}, syslen={result.sys_len}, reflen={result.ref_len})"
    )
