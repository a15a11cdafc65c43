"""A training step compiled for chips that are not here: what it costs, and what it exchanges."""

from functools import partial
from importlib.util import find_spec

import jax
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.flops import product_flops
from attnjax.lab.rehearsal import Topology, rehearse
from attnjax.lab.sweeps.costs import batch_of_text
from attnjax.models import Seq2Seq
from attnjax.training import Adam, CrossEntropy, Training
from attnjax.training.devices import sharding
from attnjax.training.settings import Recipe
from attnjax.training.step import initial_state, on_one_device, train_step
from tests.models.small import VOCABULARY, small

ROWS, LENGTH = 16, 8
MODELS = {"transformer": small(layers=1, dropout=0.1), "recurrent": Seq2Seq(width=16)}


def recipe(model: str, parallel: str) -> Recipe:
    return Recipe(
        model=MODELS[model].with_vocabularies(VOCABULARY, VOCABULARY),
        objective=CrossEntropy(),
        optimizer=Adam(),
        training=Training(parallel=parallel),
    )


def check(wanted: Recipe, on: Topology) -> None:
    """Expect one exchange, of the gradients and a few numbers, and a device's own products."""
    batch, own = batch_of_text(ROWS, LENGTH), batch_of_text(ROWS // on.count, LENGTH)
    costs = rehearse(wanted, batch, on)
    state = jax.eval_shape(partial(initial_state, recipe=wanted), jax.random.key(0), own)
    step = partial(train_step, recipe=wanted, over_devices=on_one_device)
    gradients = 4 * sum(leaf.size for leaf in jax.tree.leaves(state.params))

    assert [(exchange.kind, exchange.times) for exchange in costs.collectives] == [
        ("all-reduce", 1)
    ]
    assert gradients < costs.collectives[0].bytes
    assert costs.flops == product_flops(step, state, own) > 0
    assert costs.arguments >= 3 * gradients  # parameters and the two moments of Adam
    assert costs.traffic > 6 * gradients  # which are read and written
    assert costs.seconds["memory"] == costs.traffic / on.chip.bandwidth
    assert costs.seconds[costs.bottleneck] == max(costs.seconds.values())
    assert costs.fits


@pytest.mark.parametrize("parallel", ["mesh", pytest.param("pmap", marks=pytest.mark.long)])
def test_the_eight_devices_of_this_machine(parallel, monkeypatch):
    """The short form: what is read from a program does not depend on who compiled it."""
    monkeypatch.setattr(Topology, "devices", lambda _: jax.devices())
    check(recipe("transformer", parallel), Topology.named("v5e:2x4"))


def test_why_no_kernel_is_used_is_a_line_of_the_rehearsal_alone(monkeypatch, caplog):
    monkeypatch.setattr(Topology, "devices", lambda _: jax.devices())
    wanted, batch = recipe("recurrent", "mesh"), batch_of_text(ROWS, LENGTH)
    step = rehearse(wanted, batch, Topology.named("v5e:2x4"))
    assert any("needs them" in line for line in step.kernels)
    assert not [record for record in caplog.records if record.name.startswith("attnjax")]


@pytest.mark.long
@pytest.mark.skipif(find_spec("libtpu") is None, reason="needs libtpu: pip install libtpu")
@pytest.mark.parametrize("parallel", ["mesh", "pmap"])
@pytest.mark.parametrize("model", MODELS)
def test_eight_chips_of_a_tpu(model, parallel):
    check(recipe(model, parallel), Topology.named("v5e:2x4"))


@pytest.mark.long
@pytest.mark.skipif(find_spec("libtpu") is None, reason="needs libtpu: pip install libtpu")
def test_slices_of_the_state_are_gathered():
    """Some in fusions, beside the work that they do not need."""
    wanted, batch = recipe("recurrent", "fsdp"), batch_of_text(ROWS, LENGTH)
    step = rehearse(wanted, batch, Topology.named("v5e:2x4"))
    gathered = sum(x.bytes * x.times for x in step.collectives if x.kind == "all-gather")
    state = jax.eval_shape(partial(initial_state, recipe=wanted), jax.random.key(0), batch)
    divided = [leaf for leaf in jax.tree.leaves(state.params) if leaf.size >= sharding.SMALL]
    # in bfloat16, to which a TPU rounds the operands of products
    assert gathered >= 2 * sum(leaf.size for leaf in divided)
    assert step.fits


@pytest.mark.long
@pytest.mark.skipif(find_spec("jax_cuda12_plugin") is None, reason="needs jax-cuda12-plugin")
def test_eight_gpus():
    check(recipe("transformer", "mesh"), Topology.named("h100:8"))


def test_chips_that_do_not_divide_the_rows(monkeypatch):
    monkeypatch.setattr(Topology, "devices", lambda _: jax.devices())
    with pytest.raises(UserError, match="a batch's rows must be a multiple of the 8 devices"):
        rehearse(
            recipe("transformer", "mesh"), batch_of_text(12, LENGTH), Topology.named("v5e:2x4")
        )
