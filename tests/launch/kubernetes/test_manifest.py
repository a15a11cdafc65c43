"""The manifests: fields that Kubernetes knows, names that it takes, pods that find each other."""

from pathlib import Path
from typing import Any

import pytest

from attnjax.errors import UserError
from launch.kubernetes import manifest
from launch.kubernetes.site import KubernetesSite
from launch.plan import LaunchedRun
from launch.site import read_site
from tests.launch.kubernetes.schema import OBJECTS, mistakes

SITES = Path(__file__).parents[3] / "launch" / "sites"
RUN = LaunchedRun(variant="a", seeds=(3,), folders=(Path("/data/runs/tiny/a/seed-3"),))
SITE = {"image": "here/attnjax", "claim": "runs"}


def job_set(site: KubernetesSite) -> dict[str, Any]:
    return manifest.job_set(site, "tiny", "tiny-1234", ["/experiment/tiny.py"], RUN)


def job(made: dict[str, Any]) -> dict[str, Any]:
    return made["spec"]["replicatedJobs"][0]["template"]["spec"]


def pod(made: dict[str, Any]) -> dict[str, Any]:
    return job(made)["template"]["spec"]


def container(made: dict[str, Any]) -> dict[str, Any]:
    return pod(made)["containers"][0]


@pytest.mark.parametrize("name", ["kubernetes", "kubernetes-tpu"])
def test_the_manifests_of_the_examples_have_known_fields(name):
    site = read_site(SITES / f"{name}.toml", KubernetesSite)
    made = [
        manifest.config_map(site, "tiny", "tiny.py", "ablation = ..."),
        job_set(site),
        manifest.report_job(site, "tiny"),
    ]
    for one in made:
        assert mistakes(one, OBJECTS[one["kind"]]) == []


def test_a_misspelt_field_is_found():
    made = job_set(KubernetesSite(**SITE))
    made["spec"]["failurePolicy"]["maxRestart"] = made["spec"]["failurePolicy"].pop("maxRestarts")
    job(made)["completionMode"] = "indexed"
    del container(made)["name"]
    assert mistakes(made, OBJECTS["JobSet"]) == [
        ".spec.failurePolicy.maxRestart is no field",
        ".spec.replicatedJobs[].template.spec.completionMode: 'indexed' is none of "
        "['Indexed', 'NonIndexed']",
        ".spec.replicatedJobs[].template.spec.template.spec.containers[].name is missing",
    ]


def test_the_pods_of_a_run_find_each_other():
    made = job_set(KubernetesSite(**SITE, hosts=3))
    variables = {one["name"]: one for one in container(made)["env"]}
    network = made["spec"]["network"]
    replicated = made["spec"]["replicatedJobs"][0]
    # JobSet: <jobset>-<replicated job>-<job index>-<pod index>.<subdomain>
    first = f"{made['metadata']['name']}-{replicated['name']}-0-0.{network['subdomain']}"
    assert network["enableDNSHostnames"]
    assert variables["JAX_COORDINATOR_ADDRESS"]["value"] == f"{first}:{manifest.PORT}"
    assert variables["JAX_NUM_PROCESSES"]["value"] == "3"
    assert job(made)["parallelism"] == job(made)["completions"] == 3
    assert job(made)["completionMode"] == "Indexed"


def test_a_run_that_is_saved_starts_again_and_a_failed_one_a_few_times():
    made = job_set(KubernetesSite(**SITE, restarts=2))
    policy = made["spec"]["failurePolicy"]
    assert policy["maxRestarts"] == 2
    assert policy["rules"][0]["onJobFailureReasons"] == ["PodFailurePolicy"]
    assert policy["rules"][0]["action"] == "RestartJobSetAndIgnoreMaxRestarts"
    taken, saved = job(made)["podFailurePolicy"]["rules"]
    assert taken["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert saved["onExitCodes"]["values"] == [75]
    assert saved["onExitCodes"]["containerName"] == container(made)["name"]


def test_a_run_asks_for_gpus():
    made = job_set(KubernetesSite(**SITE, gpus=4, memory="8Gi", cpu=2))
    assert container(made)["resources"] == {
        "requests": {"cpu": "2", "memory": "8Gi"},
        "limits": {"memory": "8Gi", "nvidia.com/gpu": "4"},
    }


@pytest.mark.parametrize(
    "slice, hosts, chips, accelerator",
    [
        ("v5e:2x4", 1, "8", "tpu-v5-lite-podslice"),
        ("v5e:4x4", 4, "4", "tpu-v5-lite-podslice"),
        ("v6e:8x8", 16, "4", "tpu-v6e-slice"),
        ("v4:2x2x2", 2, "4", "tpu-v4-podslice"),
        ("v5p:4x4x4", 16, "4", "tpu-v5p-slice"),
    ],
)
def test_a_slice_says_hosts_chips_and_nodes(slice, hosts, chips, accelerator):
    made = job_set(KubernetesSite(**SITE, slice=slice))
    assert job(made)["parallelism"] == hosts
    assert container(made)["resources"]["limits"]["google.com/tpu"] == chips
    assert pod(made)["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": accelerator,
        "cloud.google.com/gke-tpu-topology": slice.partition(":")[2],
    }


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"slice": "v5:2x4"}, "unknown kind of TPU 'v5'; did you mean v5"),
        ({"slice": "v5e:2x4x4"}, "v5e: wanted a topology such as 2x4; got '2x4x4'"),
        ({"slice": "v4:2x4"}, "v4: wanted a topology such as 2x4x8; got '2x4'"),
        ({"slice": "v5e:3x5"}, "v5e:3x5 has 15 chips: wanted a multiple of the 4 of a host"),
        ({"slice": "v5e:2x4", "gpus": 1}, "v5e:2x4 has 1 hosts and no GPUs"),
        ({"gpus": 8, "node_gpus": 4}, "gpus: a node has 4; got 8"),
    ],
)
def test_what_no_run_can_have_is_refused(fields, said):
    with pytest.raises(UserError) as caught:
        KubernetesSite(**SITE, **fields)
    assert said in str(caught.value)
