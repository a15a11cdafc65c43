"""The manifests: an experiment's file, and a JobSet for each run.

A JobSet (https://jobset.sigs.k8s.io) starts the pods of a run together, gives them names that they
find each other by, and starts all of them again when one is lost.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from launch.duration import seconds
from launch.kubernetes.site import KubernetesSite
from launch.object_name import digest, object_name
from launch.plan import LaunchedRun

PORT = 8476
"""Where the first process of a run listens for the others."""

REQUEUE = 75
"""The exit code of `attnjax run` that asks to be started again; everything is saved."""

LABEL = "attnjax-experiment"
"""The label by which the objects of an experiment are found."""

RUNS, EXPERIMENT = "/data/runs", "/experiment"
"""Where a pod has the runs, on the claim, and the experiment file."""

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def config_map(site: KubernetesSite, experiment: str, file: str, text: str) -> dict[str, Any]:
    """The experiment file, which the pods of its runs mount; each text has an object of its own.

    Args:
        site: the cluster.
        experiment: the name of the experiment's folder.
        file: the name of the experiment file.
        text: its text.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(site, f"{object_name(experiment)}-{digest(text)}", experiment),
        "data": {file: text},
    }


def job_set(
    site: KubernetesSite, experiment: str, file: str, words: Sequence[str], run: LaunchedRun
) -> dict[str, Any]:
    """The JobSet of a run.

    Args:
        site: what the run asks for.
        experiment: the name of the experiment's folder.
        file: the name of the object with the experiment file.
        words: the arguments of `attnjax run` that all runs share.
        run: the run.
    """
    name = object_name(experiment, run.name)
    metadata = _metadata(site, name, experiment)
    if site.queue:
        metadata["labels"]["kueue.x-k8s.io/queue-name"] = site.queue
    pod = _pod(site, ["run", *words, *run.words])
    container = pod["containers"][0]
    container["env"] += _peers(site, name)
    container["resources"] = _resources(site)
    container["volumeMounts"].append({"name": "experiment", "mountPath": EXPERIMENT})
    pod["volumes"].append({"name": "experiment", "configMap": {"name": file}})
    pod["nodeSelector"] = _nodes(site)
    labeled = {"metadata": {"labels": {LABEL: object_name(experiment)}}, "spec": pod}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {
            "network": {"enableDNSHostnames": True, "subdomain": name},
            "failurePolicy": {
                "maxRestarts": site.restarts,
                "rules": [
                    _rule("saved", "RestartJobSetAndIgnoreMaxRestarts", "PodFailurePolicy"),
                    _rule("late", "FailJobSet", "DeadlineExceeded"),
                ],
            },
            "replicatedJobs": [
                {
                    "name": "run",
                    "replicas": 1,
                    "template": {"spec": _job(site, labeled)},
                }
            ],
        },
    }


def _rule(name: str, action: str, reason: str) -> dict[str, Any]:
    return {"name": name, "action": action, "onJobFailureReasons": [reason]}


def _job(site: KubernetesSite, pod: dict[str, Any]) -> dict[str, Any]:
    """The job: an indexed one, a pod a host."""
    return {
        "parallelism": site.pods,
        "completions": site.pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "activeDeadlineSeconds": seconds(site.time),
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "FailJob",
                    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                },
                {
                    "action": "FailJob",
                    "onExitCodes": {
                        "containerName": "attnjax",
                        "operator": "In",
                        "values": [REQUEUE],
                    },
                },
            ]
        },
        "template": pod,
    }


def report_job(site: KubernetesSite, experiment: str) -> dict[str, Any]:
    """The job that makes the table and the page of an experiment's finished runs.

    Args:
        site: the cluster.
        experiment: the name of the experiment's folder.
    """
    # the run was signed by the user of another pod
    words = ["report", f"{RUNS}/{experiment}", "--trust"]
    metadata = _metadata(site, "", experiment)
    del metadata["name"]
    metadata["generateName"] = f"{object_name(experiment)}-report-"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"backoffLimit": 0, "template": {"spec": _pod(site, words)}},
    }


def _pod(site: KubernetesSite, words: Sequence[str]) -> dict[str, Any]:
    """A pod that runs a command of attnjax beside the runs."""
    variables = {"ATTNJAX_DATA": "/data", **site.environment}
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": site.grace,
        "containers": [
            {
                "name": "attnjax",
                "image": site.image,
                "command": ["python", "-m", "attnjax", *words],
                "env": [{"name": key, "value": value} for key, value in variables.items()],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    # processes of one host share memory through files
                    {"name": "memory", "mountPath": "/dev/shm"},
                ],
            }
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": site.claim}},
            {"name": "memory", "emptyDir": {"medium": "Memory"}},
        ],
    }
    if site.service_account:
        pod["serviceAccountName"] = site.service_account
    return pod


def _peers(site: KubernetesSite, name: str) -> Iterator[dict[str, Any]]:
    """The environment variables by which the process of a pod finds the others."""
    yield {"name": "JAX_COORDINATOR_ADDRESS", "value": f"{name}-run-0-0.{name}:{PORT}"}
    yield {"name": "JAX_NUM_PROCESSES", "value": str(site.pods)}
    yield {"name": "JAX_PROCESS_ID", "valueFrom": {"fieldRef": {"fieldPath": INDEX}}}


def _nodes(site: KubernetesSite) -> dict[str, str]:
    """The labels of the nodes that a run may use."""
    if site.tpu is None:
        return dict(site.selector)
    return {
        **site.selector,
        "cloud.google.com/gke-tpu-accelerator": site.tpu.kind.gke,
        "cloud.google.com/gke-tpu-topology": site.tpu.topology,
    }


def _resources(site: KubernetesSite) -> dict[str, Any]:
    """What a pod asks for; GPUs and TPUs are limits."""
    limits: dict[str, str] = {"memory": site.memory}
    if site.gpus:
        limits["nvidia.com/gpu"] = str(site.gpus)
    if site.tpu is not None:
        limits["google.com/tpu"] = str(site.tpu.host_chips)
    return {"requests": {"cpu": str(site.cpu), "memory": site.memory}, "limits": limits}


def _metadata(site: KubernetesSite, name: str, experiment: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": site.namespace,
        "labels": {LABEL: object_name(experiment)},
    }
