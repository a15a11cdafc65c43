"""One set of answers under the protocols of machine translation's papers, side by side.

sacremoses is imported when something is tokenized: importing this module costs nothing.
"""

import re
from collections.abc import Mapping, Sequence

from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.metric import ChrF, ExactMatch, Metric

MULTI_BLEU = Bleu(tokenize="none", smooth="none")
COMPOUND = re.compile(r"(\S)-(\S)")


def protocol_scores(
    answers: Sequence[str], references: Sequence[str], *, tokenized: bool, language: str
) -> Mapping[str, float]:
    """The score of each protocol by its name.

        sacreBLEU           of detokenized text, with 13a's tokens, case counts (Post 2018)
        mteval-v13a         the same without case, as NIST's script by default
        multi-bleu          of the Moses tokens, not smoothed
        multi-bleu, compounds   hyphens between letters are tokens, as Vaswani et al. 2017 scored
        chrF, exact match   of detokenized text

    `tokenized` says whether the texts are split into Moses tokens already; `language` has two
    letters, for the rules of Moses.
    """
    from sacremoses import MosesDetokenizer, MosesTokenizer

    tokens = plain = (answers, references)
    if tokenized:
        joiner = MosesDetokenizer(lang=language)
        plain = tuple([joiner.detokenize(text.split()) for text in side] for side in tokens)
    else:
        splitter = MosesTokenizer(lang=language)
        tokens = tuple(
            [" ".join(splitter.tokenize(text, escape=False)) for text in side] for side in plain
        )
    lower = tuple([text.lower() for text in side] for side in plain)
    split = tuple([COMPOUND.sub(r"\1 ##AT##-##AT## \2", text) for text in side] for side in tokens)
    scores: dict[str, tuple[Metric, Sequence[Sequence[str]]]] = {
        "sacreBLEU": (Bleu(), plain),
        "mteval-v13a": (Bleu(), lower),
        "multi-bleu": (MULTI_BLEU, tokens),
        "multi-bleu, compounds": (MULTI_BLEU, split),
        "chrF": (ChrF(), plain),
        "exact match": (ExactMatch(), plain),
    }
    return {name: metric.score(*texts) for name, (metric, texts) in scores.items()}
