"""Scripts that are written without spaces between words, such as Chinese, Japanese and Thai."""

import re
from collections.abc import Iterable

LETTER = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan; Burmese; Khmer
    "\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f"  # kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"  # ideographs
)
"""A letter of such a script."""

LONGEST_WORD = 6
"""The greatest mean number of letters of a word of these scripts."""

READ = 100_000
"""The number of characters of each text, the first ones, that are looked at."""


def counted_words(text: str) -> list[str]:
    """Return the words between spaces; each letter of a script without spaces is one of its own."""
    return LETTER.sub(r" \g<0> ", text).split()


def is_unspaced(texts: Iterable[str]) -> bool:
    """Return whether most letters of texts are of these scripts, and have no spaces between words.

    Text of these scripts that is already split into words has spaces.
    """
    letters = others = words = 0
    for text in texts:
        for word in text[:READ].split():
            own = len(LETTER.findall(word))
            letters, others, words = letters + own, others + len(word) - own, words + (own > 0)
    return letters > others and letters > LONGEST_WORD * words
