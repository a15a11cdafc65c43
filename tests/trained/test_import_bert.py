"""`attnjax import bert`: a tiny BERT of the layout becomes a run; mistakes are sentences."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util
from safetensors.numpy import load_file, save_file

from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.runs.initial_parameters import check_initial_parameters
from attnjax.lab.trained.bert_tokenizer import warn_of_lost_pieces, word_pieces
from attnjax.lab.trained.import_bert import import_bert
from attnjax.lab.trained.trained_run import open_trained
from attnjax.models.base import logits
from attnjax.models.bert_heads import BertClassifier
from tests.models.golden_bert import GOLDEN, ORDER, STATE, WORDS, source
from tests.trained.answering import translate

TIED = "cls.predictions.decoder"
"""The file of a BERT leaves out what is tied."""


@pytest.fixture
def layout(tmp_path):
    """Return the folder of the golden BERT in the public layout."""
    folder = tmp_path / "tiny-bert"
    folder.mkdir()
    (folder / "config.json").write_text(str(GOLDEN["config"]))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    arrays = {name: array for name, array in STATE.items() if not name.startswith(TIED)}
    save_file(arrays, folder / "model.safetensors")
    return folder


def change(layout, **values):
    path = layout / "config.json"
    content = json.loads(path.read_text()) | values
    kept = {name: value for name, value in content.items() if value is not None}
    path.write_text(json.dumps(kept))


@pytest.mark.long
def test_an_imported_run_computes_what_transformers_computes(layout, tmp_path, capsys, float64):
    assert main(["import", "bert", str(layout), "--runs", str(tmp_path / "runs")]) == 0
    run = tmp_path / "runs" / "tiny-bert" / "experiment" / "seed-0"
    assert capsys.readouterr().out == (f"{run} (initial_parameters_from: tiny-bert/experiment)\n")
    trained = open_trained(run)
    assert trained.finished
    assert trained.vocabularies.source.pieces[4:] == tuple(WORDS[line] for line in ORDER[4:-1])
    found = trained.experiment.model.apply(
        {"params": trained.params},
        source(),
        jnp.zeros((2, 1), int),
        deterministic=True,
        method="predict",
    )
    np.testing.assert_allclose(
        logits(*found.label)[:, 0, 4:], GOLDEN["next_sentence"], rtol=0, atol=1e-11
    )
    words = logits(*found.words)[:, 0]
    np.testing.assert_allclose(words, GOLDEN["masked_words"][:, 1, ORDER[:-1]], atol=1e-11)
    (answer,) = translate(trained, ["the cats\tsat"])
    assert answer in ("next", "other")


def test_names_of_the_first_years_and_cased_words(layout, tmp_path):
    path = layout / "model.safetensors"
    arrays = load_file(path)
    for new, old in (("weight", "gamma"), ("bias", "beta")):
        for name in [name for name in arrays if name.endswith(f"LayerNorm.{new}")]:
            arrays[name.removesuffix(new) + old] = arrays.pop(name)
    save_file(arrays, path)
    (layout / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    trained = open_trained(import_bert(layout, tmp_path))
    assert trained.vocabularies.source.lower is False
    norm = trained.params["encoder"]["norm"]["scale"]
    np.testing.assert_array_equal(norm, STATE["bert.embeddings.LayerNorm.weight"])


SYMBOLS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CASED, ACCENTS = [*SYMBOLS, "Berlin", "in", "Anna"], [*SYMBOLS, "schön", "schon", "über"]
PLAIN = [*SYMBOLS, "schon", "uber", "in"]
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
FAST = {"pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece"}}


def tokenizer(folder, pieces, config=None, normalizer=None):
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    if normalizer is not None:
        (folder / "tokenizer.json").write_text(json.dumps({**FAST, "normalizer": normalizer}))
    return word_pieces(folder)


@pytest.mark.parametrize(
    ("pieces", "config", "normalizer", "words"),
    [
        (PLAIN, None, None, "schon in berlin 你 好"),
        (CASED, None, None, "Schön in Berlin 你 好"),
        (ACCENTS, None, None, "schön in berlin 你 好"),
        (CASED, {}, None, "Schön in Berlin 你 好"),
        (PLAIN, {"do_lower_case": True, "strip_accents": None}, None, "schon in berlin 你 好"),
        (ACCENTS, {"do_lower_case": True, "strip_accents": False}, None, "schön in berlin 你 好"),
        (CASED, {"do_lower_case": False}, None, "Schön in Berlin 你 好"),
        (CASED, {"do_lower_case": True}, None, "schon in berlin 你 好"),
        (PLAIN, {"tokenize_chinese_chars": False}, None, "schon in berlin 你好"),
        (PLAIN, None, BERT | {"lowercase": False}, "Schön in Berlin 你 好"),
        (PLAIN, None, BERT | {"lowercase": True, "strip_accents": False}, "schön in berlin 你 好"),
        (PLAIN, {"do_lower_case": True}, BERT | {"lowercase": False}, "schon in berlin 你 好"),
    ],
)
def test_texts_are_read_as_the_tokenizers_files_say(tmp_path, pieces, config, normalizer, words):
    assert tokenizer(tmp_path, pieces, config, normalizer).words("Schön in Berlin 你好") == (
        words.split()
    )


@pytest.mark.parametrize(
    ("config", "normalizer", "said"),
    [
        ({"do_basic_tokenize": False}, None, "must have do_basic_tokenize True; got False"),
        ({"never_split": ["Anna"]}, None, r"must have never_split None; got \['Anna'\]"),
        ({"word_tokenizer_type": "mecab"}, None, "word_tokenizer_type 'basic'; got 'mecab'"),
        ({"do_lower_case": "yes"}, None, "do_lower_case .* must be true or false; got 'yes'"),
        (None, {"type": "NFC"}, "must have normalizer.type 'BertNormalizer'; got 'NFC'"),
        (None, BERT | {"clean_text": False}, "must have normalizer.clean_text True; got False"),
    ],
)
def test_another_way_to_read_is_refused_by_its_name(tmp_path, config, normalizer, said):
    with pytest.raises(UserError, match=said):
        tokenizer(tmp_path, PLAIN, config, normalizer)


def test_a_tokenizer_that_is_no_normalizer_of_bert(tmp_path):
    tokenizer(tmp_path, PLAIN)
    for content in ('{"normalizer": null}', '{"normalizer": [1]}', "[]", "{", '{"model": 3}'):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(UserError, match=r"tokenizer\.json (must|is damaged)"):
            word_pieces(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert word_pieces(tmp_path).lower


def test_pieces_that_no_text_is_read_as_are_said(tmp_path, capsys):
    for pieces, config in ((CASED, {"do_lower_case": True}), (ACCENTS, {"do_lower_case": True})):
        warn_of_lost_pieces(tokenizer(tmp_path, pieces, config), pieces)
        told = capsys.readouterr().err
        assert f"pieces, such as {pieces[5]!r}, that no text is read as" in told
        assert "do_lower_case=True, strip_accents=True" in told
    for pieces, config in ((CASED, {}), (ACCENTS, {}), (PLAIN, {"do_lower_case": True})):
        warn_of_lost_pieces(tokenizer(tmp_path, pieces, config), pieces)
    assert capsys.readouterr().err == ""


def test_fine_tuning_may_begin_with_it(layout, tmp_path):
    run = import_bert(layout, tmp_path / "runs")
    trained = open_trained(run)
    experiment = trained.experiment
    model = BertClassifier(bert=experiment.model.bert)
    changed = {"initial_parameters_from": "tiny-bert/experiment", "model": model}
    check_initial_parameters(
        vary(experiment, changed), trained.vocabularies, [0], tmp_path / "runs", ()
    )
    model = model.with_vocabularies(trained.vocabularies.sizes[0], 3)
    shapes = jax.eval_shape(
        partial(model.init, deterministic=True),
        jax.random.key(0),
        source(),
        jnp.zeros((2, 1), int),
    )
    here, there = (
        {name: leaf.shape for name, leaf in traverse_util.flatten_dict(tree, sep=".").items()}
        for tree in (shapes["params"], trained.params)
    )
    assert dict(here.items() - there.items()) == {"label.kernel": (3, 8), "label.bias": (3,)}


@pytest.mark.parametrize(
    "file", ["config.json", "vocab.txt", "model.safetensors"], ids=lambda file: file
)
def test_a_missing_or_damaged_file(layout, tmp_path, file):
    path = layout / file
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(UserError, match=f"no file .*{file}"):
        import_bert(layout, tmp_path)
    path.write_bytes(whole[:7])
    with pytest.raises(UserError, match=rf"{file} (is damaged|is no)"):
        import_bert(layout, tmp_path)
    assert not (tmp_path / "tiny-bert" / "experiment").exists()


@pytest.mark.parametrize(
    "values, said",
    [
        ({"model_type": "roberta"}, "must have model_type 'bert'; got 'roberta'"),
        ({"hidden_act": "relu"}, "must have hidden_act 'gelu'; got 'relu'"),
        ({"hidden_size": None}, "must give hidden_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_attention_heads": 3}, "3 heads .* do not divide the width 8"),
        ({"vocab_size": 20}, "has 19 lines; vocab_size in .* is 20"),
        ({"intermediate_size": 13}, r"intermediate.dense.weight must have the shape \[13, 8\]"),
        ({"num_hidden_layers": 3}, r"no array bert.encoder.layer.2.attention"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_a_config_that_does_not_fit(layout, tmp_path, values, said):
    change(layout, **values)
    with pytest.raises(UserError, match=said):
        import_bert(layout, tmp_path)


def test_another_layout_and_a_run_that_is_there(layout, tmp_path, capsys):
    import_bert(layout, tmp_path)
    with pytest.raises(UserError, match="is there already: choose another --runs"):
        import_bert(layout, tmp_path)
    assert main(["import", "gpt", str(layout), "--runs", str(tmp_path)]) == 2
    assert "invalid choice: 'gpt'" in capsys.readouterr().err
    save_file({"wte": np.zeros((2, 2))}, layout / "model.safetensors")
    with pytest.raises(UserError, match="is not in BERT's layout: it has no array bert.embeddings"):
        import_bert(layout, tmp_path / "other")


@pytest.mark.parametrize(
    "name",
    [
        'x"""+str(open("executed", "w"))+"""',
        'x\'+str(open("executed", "w"))+\'',
        'x\n"""\nopen("executed", "w")\n"""',
        "{folder!r}",
        "x\\",
    ],
)
def test_the_name_of_a_folder_is_never_executed(layout, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    folder = layout.rename(tmp_path / name)
    run = import_bert(folder, tmp_path / "runs")
    assert not (tmp_path / "executed").exists()
    assert not (folder / "executed").exists()
    title = load(run / "experiment.py").title
    assert repr(str(folder)) in title
    assert "Devlin et al. 2019" in title


def test_a_program_in_the_folder_is_never_executed(layout, tmp_path, capsys):
    (layout / "tiny-bert.py").write_text("raise SystemExit('executed')")
    import_bert(layout, tmp_path / "runs")
    assert main(["report", str(tmp_path / "runs"), "--trust"]) == 0
    assert capsys.readouterr().err == ""
