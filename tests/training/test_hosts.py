"""Several processes that train together."""

import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.training.devices import hosts, join
from tests.training import joined, joined_steps, test_sharding

SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "node[1-2]", "SLURM_NTASKS": "2"}
TASK = {**SLURM, "SLURM_PROCID": "1", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "2"}
GIVEN = {join.COORDINATOR: "there:1234", join.COUNT: "4", join.INDEX: "3"}


@pytest.fixture
def asked(monkeypatch):
    """Return how JAX is asked to join, instead of asking it."""
    calls = []

    def initialize(*arguments, local_device_ids, initialization_timeout):
        calls.append((*arguments, local_device_ids))

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    return calls


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (GIVEN, ("there:1234", 4, 3, None)),
        (TASK, (None, None, None, None)),
        ({**TASK, "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}, (None, None, None, [])),
        ({**TASK, **GIVEN}, ("there:1234", 4, 3, None)),
        ({**TASK, join.COORDINATOR: "there:1234"}, ("there:1234", None, None, None)),
        ({"JOB_COMPLETION_INDEX": "0"}, (None, None, None, None)),
    ],
    ids=["variables", "slurm", "one task a node", "both", "address", "kubernetes"],
)
def test_joins_where_the_environment_names_other_processes(asked, environment, expected):
    join.join(environment)
    assert asked == [expected]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {join.COORDINATOR: "there:1234"},
        SLURM,
        {**TASK, "SLURM_STEP_NUM_TASKS": "1"},
        {**TASK, join.COUNT: "1"},
        {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
        {"JOB_COMPLETION_INDEX": "3", join.COUNT: "1"},
        {"TPU_WORKER_HOSTNAMES": "localhost"},
    ],
)
def test_a_process_that_is_alone_joins_nobody(asked, environment):
    join.join(environment)
    assert asked == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({join.COORDINATOR: "there:70000"}, "must be HOST:PORT .* 4 processes; got 'there:70000'"),
        ({join.COORDINATOR: "there"}, "must be HOST:PORT .* 4 processes; got 'there'"),
        ({join.COUNT: "four"}, "JAX_NUM_PROCESSES must be a whole number; got 'four'"),
        ({join.INDEX: "4"}, "JAX_PROCESS_ID must be less than .* 4; got 4"),
    ],
)
def test_an_environment_that_contradicts_itself_is_refused(changed, message):
    with pytest.raises(UserError, match=message):
        join.join({**GIVEN, **changed})


def test_a_variable_that_is_missing_is_named():
    with pytest.raises(UserError, match="JAX_PROCESS_ID is not set"):
        join.join({join.COORDINATOR: "there:1234", join.COUNT: "2"})


def test_for_one_process_everything_is_trivial():
    tree = {"a": np.arange(3)}
    assert (hosts.count(), hosts.index(), hosts.is_first()) == (1, 0, True)
    assert hosts.begin_to_agree(15)() == 15
    assert hosts.broadcast(tree) is tree


@pytest.mark.long
def test_a_coordinator_that_cannot_be_reached_is_one_sentence():
    program = (
        "from attnjax.training.devices import join\n"
        "join.SECONDS_TO_JOIN = 1\n"
        f"join.join({ {**GIVEN, join.COORDINATOR: '127.0.0.1:9'}!r})"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 2
    said = "attnjax: the coordinator at 127.0.0.1:9 cannot be reached; waited 1 s"
    assert said in ended.stderr
    assert ended.stderr.endswith("has JAX_NUM_PROCESSES=1 in its environment\n")
    assert "Traceback" not in ended.stderr


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("model", "processes", "devices", "steps"),
    [
        ("toy", 2, 2, 10),
        pytest.param("transformer", 2, 4, 50, marks=pytest.mark.long),
        pytest.param("transformer", 4, 2, 50, marks=pytest.mark.long),
    ],
)
def test_processes_equal_one_process(tmp_path, record_property, model, processes, devices, steps):
    file = tmp_path / "found"
    arguments = ("-m", "tests.training.joined_steps", model, str(steps), file)
    started = joined.start(arguments, processes=processes, devices=devices)
    module, seeds = joined_steps.MODELS[model]
    losses, params, _ = test_sharding.run(
        module, "mesh", processes * devices, seeds=seeds, steps=steps, dtype="float64"
    )
    joined.finish(started)
    for how, (theirs, after) in pickle.loads(file.read_bytes()).items():
        np.testing.assert_allclose(theirs, losses, rtol=0, atol=1e-9, err_msg=how)
        test_sharding.assert_close(after, params, 1e-9)
    record_property(
        "shown",
        f"{processes} processes of {devices} devices equal one of {processes * devices}, within "
        f"1e-9, after {steps} steps: mesh, pmap, fsdp",
    )


def test_half_a_cluster_says_how_to_run_alone(monkeypatch):
    """An indexed job of Kubernetes, or mpirun around a container, may hold a single process."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("coordinator_address should be defined")

    monkeypatch.setattr(join.jax.distributed, "initialize", fail)
    with pytest.raises(UserError, match="should be defined; .* alone has JAX_NUM_PROCESSES=1 in"):
        join.join({"JOB_COMPLETION_INDEX": "0"})
