import ast
import dataclasses
from fnmatch import fnmatch

import pytest

from attnjax.attention.mask import Window
from attnjax.attention.score.base import Additive, Dot, ScaledDot, Score
from attnjax.attention.score.positional import Alibi
from attnjax.attention.state.linear import LinearAttention
from attnjax.config.override import apply_possible, override, split
from attnjax.config.vary import vary
from attnjax.config.walk import differences
from attnjax.data.corpora.labeled_file import LabeledFile
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.generated.sequences import Copy, Reverse
from attnjax.decoding.beam import Beam
from attnjax.decoding.sample import Sample
from attnjax.errors import UserError
from attnjax.evaluation import Heatmaps, Perplexity
from attnjax.experiment import Experiment
from attnjax.experiment.load import load
from attnjax.lab.runs.trust import shipped_folder
from attnjax.models.feed_forward import FeedForward, GatedFeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import PreNorm

BASE = Experiment(task=Copy(), model=Transformer())
SCORE = "model.encoder_layer.self_attention.head.score"


def changed(*words: str) -> dict:
    rest, overrides = split(words)
    assert not rest
    return differences(BASE, override(BASE, overrides))


def test_vary_changes_what_is_named_and_nothing_else():
    changes = {
        SCORE: Dot(),
        "model.decoder_layer.cross_attention.heads": 2,
        "training.patience": 3,
        "task.seed": 7,
    }
    varied = vary(BASE, changes)
    found = differences(BASE, varied)
    assert {path: new for path, (_, new) in found.items()} == changes
    assert vary(varied, {path: old for path, (old, _) in found.items()}) == BASE
    assert Experiment(task=Copy(), model=Transformer()) == BASE


def test_two_stars_stand_for_any_way_down():
    varied = vary(BASE, {"model.**.score": Dot(), "model.**.heads": 2})
    places = (
        "model.encoder_layer.self_attention",
        "model.decoder_layer.self_attention",
        "model.decoder_layer.cross_attention",
    )
    wanted = {f"{place}.heads": 2 for place in places}
    wanted |= {f"{place}.head.score": Dot() for place in places}
    assert {path: new for path, (_, new) in differences(BASE, varied).items()} == wanted
    nearest = vary(BASE, {"model.**.dropout": 0.7})
    assert (nearest.model.dropout, nearest.model.encoder_layer.self_attention.head.dropout) == (
        0.7,
        0.7,
    )
    with pytest.raises(UserError, match=r"no field of Experiment matches model\.\*\*\.scor$"):
        vary(BASE, {"model.**.scor": Dot()})


def test_a_later_path_leads_into_an_earlier_value():
    varied = vary(BASE, {SCORE: Additive(), f"{SCORE}.width": 12})
    assert varied.model.encoder_layer.self_attention.head.score == Additive(width=12)
    assert list(differences(BASE, varied)) == [SCORE]


@pytest.mark.parametrize(
    "path, value, sentence",
    [
        (
            "model.num_decoder_layers",
            "six",
            "model.num_decoder_layers: wanted int above 0; got str 'six'",
        ),
        (
            "model.num_decoder_layers",
            True,
            "model.num_decoder_layers: wanted int above 0; got bool True",
        ),
        ("model.width", 1.5, "model.width: wanted int above 0; got float 1.5"),
        ("model.dropout", None, "model.dropout: wanted float at least 0 and below 1; got None"),
        ("training.patience", "x", "training.patience: wanted int above 0 or None; got str 'x'"),
        (
            "training.parallel",
            "gpu",
            "training.parallel: wanted mesh or pmap or fsdp; got str 'gpu'",
        ),
        ("training.steps", 0, "training.steps: wanted int above 0; got int 0"),
        (SCORE, PreNorm(), f"{SCORE}: wanted Score; got PreNorm"),
        ("measures", (Dot(),), "measures[0]: wanted Measure; got Dot"),
        (
            "model.encoder.atention.heads",
            4,
            "did you mean model.encoder_layer.self_attention.heads?",
        ),
        ("trainin.steps", 4, "no field trainin.steps; did you mean training.steps?"),
        ("schedule", 4, "no field schedule; did you mean optimizer.schedule?"),
        ("model.width.x", 4, "model.width is int 512, which has no fields"),
        ("nothing", 4, "no field nothing: Experiment has task, model, objective"),
    ],
)
def test_what_does_not_fit_is_refused(path, value, sentence):
    with pytest.raises(UserError) as error:
        vary(BASE, {path: value})
    assert sentence in str(error.value)


def test_a_whole_number_may_stand_for_a_float():
    dropout = vary(BASE, {"model.dropout": 0}).model.dropout
    assert dropout == 0
    assert type(dropout) is float


@pytest.mark.parametrize(
    "words, expected",
    [
        # a value inside a part that is chosen later in the line
        ((f"--{SCORE}.width", "12", f"{SCORE}:additive"), {SCORE: Additive(width=12)}),
        ((f"{SCORE}:scaled-dot",), {}),
        (("model.encoder_layer.residual:pre-norm",), {"model.encoder_layer.residual": PreNorm()}),
        (("model.encoder_layer.self_attention.heads=4",), None),
        (
            ("--model.encoder_layer.self_attention.heads=4",),
            {"model.encoder_layer.self_attention.heads": 4},
        ),
        (("--training.patience", "none", "--task.seed", "3"), {"task.seed": 3}),
        (
            ("--model.encoder-layer.feed-forward.width", "8"),
            {"model.encoder_layer.feed_forward.width": 8},
        ),
        (("--training.precision", "bfloat16"), {"training.precision": "bfloat16"}),
    ],
)
def test_overrides_in_any_order(words, expected):
    if expected is None:
        assert split(words)[0] == list(words), "there is one way to write a value"
        return
    assert {path: new for path, (_, new) in changed(*words).items()} == expected


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("--model.width", "wide"), "--model.width: wanted int above 0; got 'wide'"),
        (
            ("--training.parallel", "gpu"),
            "--training.parallel: wanted mesh or pmap or fsdp; got 'gpu'",
        ),
        (("--model.dropuot", "0.1"), "no field model.dropuot; did you mean model.dropout?"),
        (("--model.dropout",), "--model.dropout needs a value after it"),
        ((f"{SCORE}:aditive",), "'aditive'; did you mean additive?"),
        ((f"--{SCORE}", "additive"), f"a part is chosen by {SCORE}:"),
        (
            ("model.width:8",),
            "model.width is a value, not a part (int above 0): give --model.width",
        ),
        (
            ("measures:heat-maps",),
            "unknown part for measures: 'heat-maps'; did you mean heatmaps",
        ),
        (("--task.seed", "-1"), "--task.seed: wanted int at least 0 or None; got int -1"),
        (
            ("--model.dropout", "0,5"),
            "--model.dropout: wanted float at least 0 and below 1; got '0,5'",
        ),
    ],
)
def test_a_wrong_override_is_one_sentence(words, sentence):
    with pytest.raises(UserError) as error:
        changed(*words)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_part_that_was_put_in_says_what_it_has():
    """Refuse a bias or a window of linear attention, which has no score and no mask, by name."""
    linear = vary(BASE, {"model.**.head": LinearAttention()})
    for field, value in (("score", Alibi()), ("mask", Window(before=2))):
        path = f"model.encoder_layer.self_attention.head.{field}"
        with pytest.raises(UserError, match=f"^no field {path}: LinearAttention has feature_map"):
            vary(linear, {path: value})


def test_none_is_no_string_and_values_that_fit_only_together_are_made_together():
    base = Experiment(task=ParallelText(), model=Transformer(), search=Beam(min_words=5))
    for words in (("--search.max_words", "3", "--search.min_words", "0"), ("--task.valid", "none")):
        for order in (words, words[2:] + words[:2]):
            made = override(base, split(order)[1])
            assert {path: new for path, (_, new) in differences(base, made).items()} in (
                {"search.max_words": 3, "search.min_words": 0},
                {"task.valid": None},
            )
    with pytest.raises(UserError, match="at least min_words, 5; got 3"):
        override(base, split(["--search.max_words", "3"])[1])


FEED_FORWARD = "model.encoder_layer.feed_forward"


@pytest.mark.parametrize(
    "given, words, expected",
    [
        (FeedForward(width=256), (), GatedFeedForward(width=256)),
        # what the experiment did not choose has the new part's own default
        (FeedForward(), (), GatedFeedForward()),
        (
            FeedForward(width=256, dropout=0.2, activation="gelu"),
            (f"--{FEED_FORWARD}.dropout", "0.3"),
            GatedFeedForward(width=256, dropout=0.3, activation="gelu"),
        ),
        (FeedForward(width=256), (f"--{FEED_FORWARD}.width", "7"), GatedFeedForward(width=7)),
    ],
)
def test_a_chosen_part_keeps_what_its_predecessor_was_given(given, words, expected):
    base = vary(BASE, {FEED_FORWARD: given})
    choice = f"{FEED_FORWARD}:gated-feed-forward"
    for order in ((*words, choice), (choice, *words)):
        assert override(base, split(order)[1]).model.encoder_layer.feed_forward == expected


def test_a_field_is_kept_if_the_new_part_allows_its_value():
    base = Experiment(
        task=Copy(train=48, symbols=6), model=Transformer(), search=Beam(size=7, max_words=9)
    )
    _, words = split(["search:sample", "task:reverse"])
    made = override(base, words)
    assert made.task == Reverse(train=48, symbols=6)
    assert made.search == Sample(size=7)
    # a number of examples is no name of a file
    assert override(base, split(["task:parallel-text"])[1]).task == ParallelText()


@pytest.mark.parametrize("text, label", [("2", "1"), ("a", "text"), ("label", "text")])
def test_fields_are_checked_together_after_all_overrides(text, label):
    base = Experiment(task=LabeledFile(), model=Transformer())
    words = ["--task.text", text, "--task.label", label]
    for order in (words, words[2:] + words[:2]):
        made = override(base, split(order)[1]).task
        assert (str(made.text), str(made.label)) == (text, label)
    values = {"task.text": made.text, "task.label": made.label}
    assert vary(base, values).task == made


def test_fields_that_do_not_fit_are_refused_and_the_others_applied():
    base = Experiment(task=LabeledFile(), model=Transformer())
    overrides = split(["--task.text", "2", "--model.width", "8", "--training.stesp", "3"])[1]
    made, refused = apply_possible(base, overrides)
    assert made == vary(base, {"model.width": 8})
    assert [str(error).partition(";")[0] for error in refused] == [
        "no field training.stesp",
        "task.text and task.label must be two names, or two numbers, of columns",
    ]


def test_a_newcomers_part_can_be_chosen_at_once():
    class Newcomer(Score):
        def __call__(self, query, key, positions):
            return query @ key.mT

    assert type(changed(f"{SCORE}:newcomer")[SCORE][1]) is Newcomer


def test_the_base_class_of_parts_is_none():
    with pytest.raises(UserError, match="'score'; choose from additive"):
        changed(f"{SCORE}:score")
    assert type(BASE.model.encoder_layer.self_attention.head.score) is ScaledDot


def below(path: str, name: str) -> bool:
    """Whether a path is named, with wildcards, or lies below what is."""
    return fnmatch(path, name) or fnmatch(path, f"{name}.*")


@pytest.mark.parametrize("path", sorted(shipped_folder().glob("*.py")), ids=lambda path: path.stem)
def test_each_shipped_variant_differs_in_exactly_what_it_names(path):
    ablation = load(path).ablation
    module = {}
    exec(compile(path.read_text(), str(path), "exec"), module)
    tree = ast.parse(path.read_text())
    named_values = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    literal = {
        named_values.get(ast.unparse(keyword.value), keyword.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Ablation"
        for keyword in node.keywords
        if keyword.arg == "variants"
    }
    assert len(literal) == 1
    (variants,) = literal
    if not isinstance(variants, ast.Dict):
        pytest.skip("the variants are computed; what they change has no literal to compare with")
    for key, value in zip(variants.keys, variants.values, strict=True):
        if key is None or not isinstance(value, ast.Call):
            continue
        name = ast.literal_eval(key)
        of, changes = value.args
        assert ast.unparse(value.func) == "vary"
        named = list(eval(ast.unparse(changes), module))
        found = differences(eval(ast.unparse(of), module), ablation.variants[name])
        for path in found:
            assert any(below(path, name) for name in named), path
        for name in named:
            assert any(below(path, name) for path in found), name


def test_a_part_is_added_to_several():
    words = ["measures:heatmaps", "measures:perplexity", "measures:heatmaps"]
    experiment = BASE
    added = override(experiment, split(words)[1])
    assert added.measures == (Heatmaps(), Perplexity())
    assert override(added, split(["measures:none"])[1]).measures == ()


def test_parts_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BASE.task.seed = 3


@pytest.mark.parametrize(
    ("text", "value"), [("2,000", 2000), ("12,345,678", 12_345_678), ("2000", 2000)]
)
def test_commas_group_the_digits_of_a_whole_number_in_threes(text, value):
    assert changed("--training.steps", text) == {"training.steps": (BASE.training.steps, value)}


@pytest.mark.parametrize("text", ["10,20", "1,5", "1,0000", "1000,000", ",100", "1,,000", "100,"])
def test_other_commas_are_no_whole_number(text):
    with pytest.raises(UserError, match=f"--training.steps: wanted int above 0; got '{text}'"):
        changed("--training.steps", text)
