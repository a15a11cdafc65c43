"""Images of shapes: what is on them is what the caption says, where the alignment says."""

import numpy as np
import pytest

from attnjax.data.generated.shapes import COLORS, Shape, Shapes, silhouettes
from attnjax.data.special_tokens import END
from attnjax.errors import UserError

SMALL = Shapes(train=40, valid=10, test=15, most=3)


def test_every_word_is_seen_in_its_region():
    corpus = SMALL.load()
    vocabulary = corpus.vocabularies.target
    assert corpus.vocabularies.source is None
    counts = {name: len(split) for name, split in corpus.splits.items()}
    assert counts == {"train": 40, "valid": 10, "test": 15}
    numbers = set()
    for name, split in corpus.splits.items():
        for example, reference in zip(split, corpus.references[name], strict=True):
            image, target, regions = example
            assert image.shape == (24, 24, 3)
            assert image.dtype == np.float32
            assert image.min() >= 0
            assert image.max() <= 1
            assert target[-1] == END
            assert vocabulary.decode(target) == reference
            words = reference.split()
            assert len(regions) == len(words) + 1
            numbers.add(words.count("a"))
            # 4 x 4 pixels a patch, 6 patches a row
            patches = image.reshape(6, 4, 6, 4, 3).transpose(0, 2, 1, 3, 4).reshape(36, 16, 3)
            seen = set()
            for word, following, here, there in zip(
                words, words[1:], regions, regions[1:], strict=False
            ):
                if word not in COLORS:
                    continue
                assert following in silhouettes()
                assert here == there
                painted = np.isclose(patches, COLORS[word]).all(-1)
                assert all(painted[patch].any() for patch in here)
                # All pixels of the shape are there, and the regions of two shapes are apart.
                pixels = int(painted[sorted(here)].sum())
                assert pixels == silhouettes()[following].sum()
                assert not seen & here
                seen |= here
            assert {word for word, region in zip(words, regions, strict=False) if region} == {
                word for word in words if word in COLORS or word in silhouettes()
            }
    assert numbers == {2, 3}


@pytest.mark.parametrize(
    ("cells", "relation"), [((0, 1), "left of"), ((1, 3), "above"), ((2, 3), "above")]
)
def test_the_caption_goes_in_reading_order(cells, relation):
    one, other = (
        Shape(cell, 0, *kind)
        for cell, kind in zip(cells, (("red", "cross"), ("blue", "circle")), strict=True)
    )
    told = SMALL._tell((one, other))
    assert " ".join(word for word, _ in told) == f"a red cross {relation} a blue circle"
    assert [seen for _, seen in told if seen] == [one, one, other, other]


def test_no_image_comes_twice_and_the_seed_alone_decides():
    images = [e.source.tobytes() for split in SMALL.load().splits.values() for e in split]
    assert len(set(images)) == 65
    again = [e.source.tobytes() for split in SMALL.load().splits.values() for e in split]
    assert again == images
    other = Shapes(train=40, valid=10, test=15, most=3, seed=1).load()
    assert other.splits["train"][0].source.tobytes() != images[0]


def test_all_images_can_be_wanted_and_none_more():
    limits = {"cells": 1, "fewest": 1, "most": 1, "valid": 1, "test": 1}
    assert len(Shapes(train=62, **limits).load().splits["train"]) == 62
    with pytest.raises(UserError, match=r"65 different images; 1 to 1 shapes in 1 cells make 64"):
        Shapes(train=63, **limits).load()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cells": 0}, "task.cells: wanted .*; got .*0"),
        ({"fewest": 3, "most": 2}, "task.fewest <= task.most <= 9 .* got 3 and 2"),
        ({"cells": 1, "most": 2}, "<= 1 must hold, for 1 cells and 16 kinds"),
        ({"patch": 5}, "must divide the image's 24 pixels; got 5"),
    ],
)
def test_fields_out_of_range(load, fields, message):
    with pytest.raises(UserError, match=message):
        load(Shapes(**fields))
