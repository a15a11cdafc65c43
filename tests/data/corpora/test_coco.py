"""Photographs with captions, prepared by tensorflow-datasets, without it and its TensorFlow."""

import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from attnjax.data.corpora.coco import Coco, resized, words
from attnjax.data.special_tokens import END, UNKNOWN
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError

RED, BLUE = (255, 0, 0), (0, 0, 255)
IMAGES = {
    "train": [(RED, (8, 6), ["A red sky.", "Red!"]), (BLUE, (6, 6), ["A blue, blue sea."])],
    "val": [(BLUE, (4, 9), ["The sea", "unseen"])],
    "test": [(RED, (5, 5), ["A red sea", "A sky"])],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    import tensorflow_datasets as tfds

    class Photographs(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")
        BUILDER_CONFIGS = (tfds.core.BuilderConfig(name="2014", version=VERSION),)

        def _info(self):
            captions = tfds.features.Sequence({"text": np.str_, "id": np.int64})
            features = {"image": tfds.features.Image(shape=(None, None, 3)), "captions": captions}
            return tfds.core.DatasetInfo(
                builder=self, features=tfds.features.FeaturesDict(features)
            )

        def _split_generators(self, dl_manager):
            del dl_manager
            return {split: self._generate_examples(split) for split in IMAGES}

        def _generate_examples(self, split):
            for number, (color, size, captions) in enumerate(IMAGES[split]):
                file = io.BytesIO()
                Image.new("RGB", size, color).save(file, "PNG")
                file.seek(0)
                texts = [{"text": text, "id": 0} for text in captions]
                yield number, {"image": file, "captions": texts}

    folder = tmp_path_factory.mktemp("tfds")
    Photographs(data_dir=folder, config="2014", file_format="array_record").download_and_prepare()
    return folder


@pytest.fixture
def task(prepared):
    return Coco(
        name="photographs/2014",
        folder=str(prepared),
        train="train",
        side=4,
        vocabulary=SplitWords(),
    )


def test_images_come_with_their_captions(task):
    corpus = task.load()
    source, vocabulary = corpus.vocabularies
    assert source is None
    found = {
        split: sorted(
            (tuple(255 * example.source.reshape(-1, 3).mean(0)), vocabulary.decode(example.target))
            for example in examples
        )
        for split, examples in corpus.splits.items()
    }
    assert found == {
        "train": [(BLUE, "a blue blue sea"), (RED, "a red sky"), (RED, "red")],
        "valid": [(BLUE, "<unknown> sea")],
        "test": [(RED, "a red sea")],
    }
    assert corpus.splits["valid"][0].target[::2] == [UNKNOWN, END]
    assert corpus.references["valid"] == ["the sea"]
    for examples in corpus.splits.values():
        assert all(example.source.shape == (4, 4, 3) for example in examples)
        assert all(example.source.dtype == np.float32 for example in examples)
    assert "tensorflow" not in sys.modules


def test_fewer_captions_and_a_run_s_own_vocabulary(task):
    corpus = replace(task, captions=1, valid=None, test=None).load()
    assert sorted(corpus.references["train"]) == ["a blue blue sea", "a red sky"]
    assert task.load(corpus.vocabularies).vocabularies is corpus.vocabularies


def test_an_image_is_its_middle_square():
    image = np.zeros((4, 8, 3), np.uint8)
    image[:, 2:6] = 255
    np.testing.assert_array_equal(resized(image, 2), np.ones((2, 2, 3)))
    # One channel stands for all three.
    gray = np.arange(16, dtype=np.uint8).reshape(4, 4)
    expected = np.broadcast_to(gray[..., None] / 255, (4, 4, 3))
    np.testing.assert_allclose(resized(gray, 4), expected, rtol=1e-6)


def test_a_caption_is_its_words():
    assert words("A man's  T-shirt, (red) - on 2 dogs.") == "a man's t-shirt red on 2 dogs"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "coco_captions/2014"}, r"coco_captions/2014 is not in .*download_and_prepare"),
        ({"valid": "valid"}, r"photographs/2014 has no split 'valid' .* val.*: Unknown"),
        ({"side": 0}, "task.side: wanted .*; got .*0"),
        ({"captions": 0}, "task.captions: wanted .*; got .*0"),
    ],
)
def test_what_is_not_there(task, load, fields, message):
    with pytest.raises(UserError, match=message):
        load(replace(task, **fields))


def test_a_corpus_of_something_else(tmp_path):
    import tensorflow_datasets as tfds

    class Texts(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            features = tfds.features.FeaturesDict({"captions": tfds.features.Text()})
            return tfds.core.DatasetInfo(builder=self, features=features)

        def _split_generators(self, dl_manager):
            del dl_manager
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            yield 0, {"captions": "none"}

    Texts(data_dir=tmp_path, file_format="array_record").download_and_prepare()
    with pytest.raises(UserError, match=r"texts has captions, and no 'image' \(task.name\)"):
        Coco(name="texts", folder=str(tmp_path)).load()
