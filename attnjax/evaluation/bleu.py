"""BLEU (Papineni et al. 2002), computed by sacrebleu.

sacrebleu is imported when something is scored: importing this module costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnjax.evaluation.metric import Metric

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

ORDERS = 4


@dataclass(frozen=True, kw_only=True)
class Bleu(Metric):
    """Corpus BLEU with one reference per sentence, in [0, 100]; case counts.

    The defaults are sacrebleu's, for plain text (Post 2018). `Bleu(tokenize="none", smooth="none")`
    scores text that is tokenized already as it is: the number that `multi-bleu.perl` gives, and the
    protocol of Multi30k's figures (Wu et al. 2021: lower-cased, tokenized, subwords joined). Such
    numbers can be compared only where the tokenization is the same.

    Attributes:
        tokenize: sacrebleu's name of how text is split into words; "none" splits at spaces.
        smooth: sacrebleu's name of the smoothing of n-gram orders without a match.
    """

    name = "bleu"

    tokenize: Literal["13a", "none", "char", "zh", "intl"] = "13a"
    smooth: Literal["exp", "none", "floor", "add-k"] = "exp"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Count, in columns: answer and reference length, matching and all n-grams, n = 1 to 4."""
        metric = self._metric()
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            result = metric.corpus_score([hypothesis], [[reference]])
            rows.append([result.sys_len, result.ref_len, *result.counts, *result.totals])
        return np.asarray(rows, int)

    def value(self, totals: np.ndarray) -> float:
        return self._compute(totals).score

    def details(self, totals: np.ndarray) -> Mapping[str, str]:
        """Return sacrebleu's signature, and the precisions and lengths as fairseq prints them."""
        metric, result = self._metric(), self._compute(totals)
        metric.num_refs = 1
        precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
        return {
            "signature": metric.get_signature().format(),
            "detail": f"BLEU{ORDERS} = {result.score:.2f}, {precisions} "
            f"(BP={result.bp:.3f}, syslen={result.sys_len}, reflen={result.ref_len})",
        }

    def _metric(self) -> "BLEU":
        from sacrebleu.metrics.bleu import BLEU

        # force: text that is tokenized on purpose is no mistake to warn of
        return BLEU(
            tokenize=self.tokenize, smooth_method=self.smooth, force=self.tokenize == "none"
        )

    def _compute(self, totals: np.ndarray) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        hypothesis, reference, *counts = (int(count) for count in totals)
        return BLEU.compute_bleu(
            counts[:ORDERS], counts[ORDERS:], hypothesis, reference, smooth_method=self.smooth
        )
