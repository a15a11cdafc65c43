"""A corpus that tensorflow-datasets prepared is read without TensorFlow and without a network."""

import shutil
import socket
import sys
from dataclasses import replace

import pytest

from attnjax.data.corpora.tfds import Translation
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError

PAIRS = {
    "train": [("größe eins", "size one"), ("zwei", "two"), ("drei", "three")],
    "validation": [("eins", "one")],
    "test": [("zwei", "two")],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    import tensorflow_datasets as tfds

    class Tiny(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.10.0")
        BUILDER_CONFIGS = (tfds.core.BuilderConfig(name="de-en", version=VERSION),)

        def _info(self):
            features = tfds.features.Translation(languages=("de", "en"))
            return tfds.core.DatasetInfo(builder=self, features=features)

        def _split_generators(self, dl_manager):
            del dl_manager
            return {split: self._generate_examples(split) for split in PAIRS}

        def _generate_examples(self, split):
            for number, (german, english) in enumerate(PAIRS[split]):
                yield number, {"de": german, "en": english}

    folder = tmp_path_factory.mktemp("tfds")
    Tiny(data_dir=folder, config="de-en", file_format="array_record").download_and_prepare()
    # an older version, which must not be chosen
    (folder / "tiny" / "de-en" / "1.9.0").mkdir()
    (folder / "tiny" / "de-en" / "1.9.0" / "dataset_info.json").write_text("{}")
    return folder


@pytest.fixture
def task(prepared, monkeypatch):
    def refuse(*_):
        raise AssertionError("looked on the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return Translation(name="tiny/de-en", folder=str(prepared), vocabulary=SplitWords())


def test_pairs_come_as_text(task):
    corpus = task.load()
    for split, name in (("train", "train"), ("valid", "validation"), ("test", "test")):
        pairs = {
            (
                corpus.vocabularies.target.decode(example.source),
                corpus.vocabularies.target.decode(example.target),
            )
            for example in corpus.splits[split]
        }
        assert pairs == {(english, german) for german, english in PAIRS[name]}
    assert "tensorflow" not in sys.modules


def test_a_part_of_a_split_and_the_folder_of_the_environment(task, prepared, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(prepared))
    part = replace(task, folder=None, train="train[:2]", valid=None, test=None)
    assert [len(split) for split in part.load().splits.values()] == [2]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "tiny/fr-en"}, r"tiny/fr-en is not in .*download_and_prepare\(\)"),
        ({"source": "fr"}, "tiny/de-en has texts in de, en, not in 'fr'"),
        ({"valid": "valid"}, r"split 'valid' .*it has train, validation, test\): Unknown split"),
        ({"train": "train[x"}, r"no split 'train\[x'"),
        ({"train": "train[:0]"}, r"no split 'train\[:0\]'"),
    ],
)
def test_what_is_not_there(task, fields, message):
    with pytest.raises(UserError, match=message):
        replace(task, **fields).load()


def test_files_in_another_format(task, prepared, tmp_path):
    copy = tmp_path / "tiny" / "de-en" / "1.10.0"
    shutil.copytree(prepared / "tiny" / "de-en" / "1.10.0", copy)
    info = copy / "dataset_info.json"
    info.write_text(info.read_text().replace("array_record", "tfrecord"))
    with pytest.raises(UserError, match=r"has files in the format tfrecord, not array_record"):
        replace(task, folder=str(tmp_path)).load()
