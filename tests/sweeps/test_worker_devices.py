"""What each worker of a command is given, and what the command may use."""

import os
from pathlib import Path

import pytest

from attnjax.config import machine
from attnjax.errors import UserError
from attnjax.lab.sweeps import worker_devices as module
from attnjax.lab.sweeps.worker_devices import UsableDevices, usable_devices, worker_devices

CUDA, TPU = "CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS"
BOUNDS = {"TPU_PROCESS_BOUNDS": "1,1,1", "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1"}


def seen(kind, count, jobs, variable, environment=None):
    """What workers see by a variable."""
    usable = UsableDevices(kind=kind, numbers=range(count))
    given = worker_devices(usable, jobs, environment or {})
    assert all(device.core is None for device in given)
    return [device.of(environment or {}).get(variable) for device in given]


@pytest.mark.parametrize(
    ("kind", "count", "jobs", "environment", "expected"),
    [
        ("cuda", 8, "auto", {}, [*"01234567"]),
        ("cuda", 8, 8, {}, [*"01234567"]),
        ("cuda", 8, 3, {}, [*"012"]),
        ("cuda", 4, "auto", {CUDA: "2,3,5,7"}, [*"2357"]),
        ("cuda", 4, 2, {CUDA: "2, 3,5,7"}, [*"23"]),
        ("cuda", 2, "auto", {CUDA: "GPU-8a,GPU-3b"}, ["GPU-8a", "GPU-3b"]),
        ("rocm", 2, "auto", {"HIP_VISIBLE_DEVICES": "1,0"}, [*"10"]),
        ("tpu", 4, "auto", {}, [*"0123"]),
        ("tpu", 8, "auto", {}, [*"01234567"]),
        ("tpu", 2, "auto", {"TPU_VISIBLE_DEVICES": "2,3"}, [*"23"]),
    ],
)
def test_each_worker_sees_an_accelerator_of_its_own(kind, count, jobs, environment, expected):
    variable = {"cuda": CUDA, "rocm": "HIP_VISIBLE_DEVICES", "tpu": TPU}[kind]
    assert seen(kind, count, jobs, variable, environment) == expected


def test_the_rest_of_an_environment_stays_and_jax_s_own_choice_does_not():
    usable = UsableDevices(kind="cuda", numbers=(2, 3))
    before = {"JAX_CUDA_VISIBLE_DEVICES": "2,3", "HOME": "/home/ann"}
    first, second = (device.of(before) for device in worker_devices(usable, "auto", before))
    assert first == {"HOME": "/home/ann", CUDA: "2"}
    assert second == {"HOME": "/home/ann", CUDA: "3"}


@pytest.mark.parametrize("chips", [4, 8])
def test_the_chips_of_a_tpu_s_machine_do_not_meet(chips):
    usable = UsableDevices(kind="tpu", numbers=range(chips))
    before = {"TPU_VISIBLE_DEVICES": ",".join(map(str, range(chips)))}
    given = [device.of(before) for device in worker_devices(usable, "auto", before)]
    assert all(one.items() >= BOUNDS.items() for one in given)
    assert all("TPU_VISIBLE_DEVICES" not in one for one in given)
    for name in (TPU, "TPU_PROCESS_PORT", "TPU_PROCESS_ADDRESSES"):
        assert len({one[name] for one in given}) == chips


@pytest.mark.parametrize(
    ("cores", "jobs", "expected"),
    [
        (range(16), "auto", [*range(16)]),
        (range(16), 8, [*range(8)]),
        ((4, 5, 9, 14), "auto", [4, 5, 9, 14]),
        ((4, 5, 9, 14), 3, [4, 5, 9]),
        ((6,), 1, [6]),
    ],
)
def test_each_worker_has_a_core_of_its_own(cores, jobs, expected):
    given = worker_devices(UsableDevices(kind="cpu", numbers=cores, bind=True), jobs, {})
    assert [device.core for device in given] == expected
    assert all(device.of({"A": "b"}) == {"A": "b"} for device in given)


def test_where_nothing_is_bound_to_a_core_a_worker_has_one_thread(monkeypatch):
    given = worker_devices(UsableDevices(kind="cpu", numbers=range(8), bind=False), 3, {})
    assert [(device.core, device.of({})) for device in given] == [(None, {"NPROC": "1"})] * 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setenv("NPROC", "1")
    assert machine.usable_cores() == 1
    for wrong in ("", "0", "many"):
        monkeypatch.setenv("NPROC", wrong)
        assert machine.usable_cores() == os.cpu_count()


@pytest.mark.parametrize(
    ("kind", "count", "sentence"),
    [
        ("cpu", 2, "one worker for each of the 2 cores that this command may use; got 3"),
        ("cpu", 1, "of the 1 core that"),
        ("cuda", 2, "of the 2 GPUs that"),
        ("tpu", 1, "of the 1 TPU that"),
    ],
)
def test_there_are_no_more_workers_than_devices(kind, count, sentence):
    with pytest.raises(UserError, match=sentence):
        worker_devices(UsableDevices(kind=kind, numbers=range(count)), 3, {})


def test_the_cores_are_those_of_this_process_alone(monkeypatch, tmp_path):
    """Cores 0 and 4 are threads of one physical core, and so on; a container has time for six."""
    for core in range(8):
        (tmp_path / str(core)).write_text(f"{core % 4},{core % 4 + 4}\n")
    (tmp_path / "cpu.max").write_text("600000 100000\n")
    monkeypatch.setattr(machine, "SIBLINGS", f"{tmp_path}/{{}}")
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "none")
    monkeypatch.setattr(machine, "QUOTA_1", tmp_path / "none")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4, 5, 6, 7})
    assert machine.cores() == [*range(8)]
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "cpu.max")
    assert machine.cores() == [0, 1, 2, 3, 4, 5]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2, 5, 7})
    assert machine.cores() == [1, 2, 5, 7]
    (tmp_path / "2").write_text("1-2\n")  # 2 is the second thread of 1
    assert machine.cores() == [1, 2, 5, 7]
    (tmp_path / "7").write_text("7\n")
    (tmp_path / "5").write_text("3,5\n")
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "none")
    assert machine.cores() == [1, 7, 2, 5]
    assert usable_devices({"JAX_PLATFORMS": "cpu"}).numbers == [1, 7, 2, 5]


@pytest.mark.parametrize(
    ("today", "older", "expected"),
    [
        ("max 100000", None, None),
        ("200000 100000", None, 2),
        ("150000 100000", None, 2),
        ("20000 100000", None, 1),
        (None, "-1", None),
        (None, "400000", 4),
        (None, None, None),
        ("strange", "400000", None),
    ],
)
def test_a_container_s_share_of_time_is_worth_cores(tmp_path: Path, today, older, expected):
    if today is not None:
        (tmp_path / "cpu.max").write_text(f"{today}\n")
    if older is not None:
        (tmp_path / "cpu.cfs_quota_us").write_text(f"{older}\n")
        (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    assert machine.quota(tmp_path / "cpu.max", tmp_path / "cpu.cfs_quota_us") == expected


@pytest.mark.parametrize(
    ("answer", "kind", "numbers"),
    [
        ("print('[\"cuda\", [0, 1]]')", "cuda", [0, 1]),
        ("print('a remark of a driver'); print('[\"tpu\", [0, 1, 2, 3]]')", "tpu", [0, 1, 2, 3]),
        ("raise RuntimeError", "cpu", machine.cores()),
        (module.ASK, "cpu", machine.cores()),
    ],
)
def test_accelerators_are_asked_for_in_a_process_that_ends(monkeypatch, answer, kind, numbers):
    monkeypatch.setattr(module, "_plugins", lambda _: True)
    monkeypatch.setattr(module, "ASK", answer)
    environment = {**os.environ, "JAX_PLATFORMS": ""}
    usable = usable_devices(environment)
    assert (usable.kind, [*usable.numbers]) == (kind, numbers)
    assert usable_devices({**environment, "JAX_PLATFORMS": "cpu"}).kind == "cpu"


def test_other_accelerators_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_plugins", lambda _: True)
    monkeypatch.setattr(module, "ASK", "print('[\"METAL\", [0]]')")
    with pytest.raises(UserError, match="GPUs of CUDA or ROCm, and TPUs; here is METAL"):
        usable_devices({**os.environ, "JAX_PLATFORMS": ""})
