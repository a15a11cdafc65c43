"""The captions of COCO, through tensorflow-datasets and without TensorFlow."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpora.tfds import open_prepared, read_split
from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SplitWords, VocabularyPart


@dataclass(frozen=True, kw_only=True)
class Coco(Task):
    """Photographs and their captions, in the splits of Karpathy and Li 2015.

    The middle square of each image is resized to `side` pixels, floats in [0, 1]. A caption is its
    lower-case words, without punctuation. A training image occurs once with each of its first
    `captions` captions. An image of the other splits occurs once, with its first caption, so that
    BLEU has one reference where papers have up to five. All images are held in memory, 12 side^2
    bytes an example.

    Attributes:
        name: the name of the corpus and its configuration in tensorflow-datasets.
        train: the training split, or a part of it: "train[:1000]".
        valid: the validation split, or a part of one; None: there is none. `test` likewise.
        folder: as `Translation.folder`.
        side: the side of an image in pixels.
        captions: the largest number of captions of a training image; COCO has five or six.
        vocabulary: learned from the captions of train.

    Source: Lin et al. 2014; Chen et al. 2015; Karpathy & Li 2015.
    """

    name: str = "coco_captions/2014"
    train: str = "train+restval"
    valid: str | None = "val"
    test: str | None = "test"
    folder: str | None = None
    side: PositiveInt = 224
    captions: PositiveInt = 5
    vocabulary: VocabularyPart = SplitWords(max_size=10_000)

    @property
    def answers(self) -> Literal["text"]:
        return "text"

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        features = {"image": "name", "captions": "name"}
        builder = open_prepared(self.name, self.folder, features)
        names = {"train": self.train, "valid": self.valid, "test": self.test}
        splits = {
            split: [*self._examples(builder, name, self.captions if split == "train" else 1)]
            for split, name in names.items()
            if name is not None
        }
        if vocabularies is None:
            learned = self.vocabulary.learn(example.target for example in splits["train"])
            vocabularies = Vocabularies(None, learned)
        return build(splits, vocabularies)

    def _examples(self, builder: Any, split: str, captions: int) -> Iterator[Example]:
        for row in read_split(builder, split):
            image = resized(row["image"], self.side)
            for caption in row["captions"]["text"][:captions]:
                yield Example(image, words(caption.decode()))


def resized(image: np.ndarray, side: int) -> np.ndarray:
    """Resize the middle square of an image, uint8 [H, W, 3 or 1], to [side, side, 3] in [0, 1]."""
    from PIL import Image

    image = image.reshape(*image.shape[:2], -1)
    least = min(image.shape[:2])
    top, left = ((whole - least) // 2 for whole in image.shape[:2])
    square = np.broadcast_to(image[top : top + least, left : left + least], (least, least, 3))
    whole = Image.fromarray(np.ascontiguousarray(square))
    return np.asarray(whole.resize((side, side), Image.Resampling.BILINEAR), np.float32) / 255


def words(caption: str) -> str:
    """Return a caption in lower case without punctuation, with a space between words."""
    return " ".join(re.findall(r"[\w'-]*\w", caption.lower()))
