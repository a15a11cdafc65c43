"""The fields that our manifests may use, and their types: a part of the published schemas.

JobSet v1alpha2, of https://github.com/kubernetes-sigs/jobset
    config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml
Job of batch/v1, and its pods, of https://kubernetes.io/docs/reference/kubernetes-api

A dict has these fields and no others, those with a `!` always; a list has items of one form; a set
has the allowed words; `{str: form}` has any names.
"""

from typing import Any

TEXTS = {str: str}
METADATA = {"name": str, "generateName": str, "namespace": str, "labels": TEXTS}
CONTAINER = {
    "name!": str,
    "image": str,
    "command": [str],
    "env": [
        {"name!": str, "value": str, "valueFrom": {"fieldRef": {"fieldPath!": str}}},
    ],
    "resources": {"requests": TEXTS, "limits": TEXTS},
    "volumeMounts": [{"name!": str, "mountPath!": str}],
}
POD = {
    "containers!": [CONTAINER],
    "restartPolicy": {"Never", "OnFailure", "Always"},
    "terminationGracePeriodSeconds": int,
    "nodeSelector": TEXTS,
    "serviceAccountName": str,
    "volumes": [
        {
            "name!": str,
            "persistentVolumeClaim": {"claimName!": str},
            "configMap": {"name": str},
            "emptyDir": {"medium": {"", "Memory"}},
        }
    ],
}
JOB_SPEC = {
    "parallelism": int,
    "completions": int,
    "completionMode": {"Indexed", "NonIndexed"},
    "backoffLimit": int,
    "activeDeadlineSeconds": int,
    "podFailurePolicy": {
        "rules!": [
            {
                "action!": {"FailJob", "FailIndex", "Ignore", "Count"},
                "onPodConditions": [{"type!": str, "status!": str}],
                "onExitCodes": {
                    "containerName": str,
                    "operator!": {"In", "NotIn"},
                    "values!": [int],
                },
            }
        ]
    },
    "template!": {"metadata": METADATA, "spec": POD},
}
OBJECTS = {
    "ConfigMap": {"apiVersion!": {"v1"}, "kind!": str, "metadata!": METADATA, "data": TEXTS},
    "Job": {"apiVersion!": {"batch/v1"}, "kind!": str, "metadata!": METADATA, "spec!": JOB_SPEC},
    "JobSet": {
        "apiVersion!": {"jobset.x-k8s.io/v1alpha2"},
        "kind!": str,
        "metadata!": METADATA,
        "spec!": {
            "network": {"enableDNSHostnames": bool, "subdomain": str},
            "failurePolicy": {
                "maxRestarts": int,
                "rules": [
                    {
                        "name!": str,
                        "action!": {
                            "FailJobSet",
                            "RestartJobSet",
                            "RestartJobSetAndIgnoreMaxRestarts",
                        },
                        "onJobFailureReasons": [
                            {
                                "BackoffLimitExceeded",
                                "DeadlineExceeded",
                                "FailedIndexes",
                                "MaxFailedIndexesExceeded",
                                "PodFailurePolicy",
                            }
                        ],
                    }
                ],
            },
            "replicatedJobs": [
                {
                    "name!": str,
                    "replicas": int,
                    "template!": {"metadata": METADATA, "spec": JOB_SPEC},
                }
            ],
        },
    },
}


def mistakes(value: Any, form: Any, path: str = "") -> list[str]:
    """What is wrong with a value of a form, by its path."""
    if isinstance(form, set):
        return [] if value in form else [f"{path}: {value!r} is none of {sorted(form)}"]
    if isinstance(form, type):
        return [] if type(value) is form else [f"{path}: {value!r} is no {form.__name__}"]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [one for item in value for one in mistakes(item, form[0], f"{path}[]")]
    if not isinstance(value, dict):
        return [f"{path}: {value!r} has no fields"]
    if str in form:
        return [one for key in value for one in mistakes(value[key], form[str], f"{path}.{key}")]
    forms = {name.rstrip("!"): below for name, below in form.items()}
    needed = {name.rstrip("!") for name in form if name.endswith("!")}
    found = [f"{path}.{name} is missing" for name in sorted(needed - value.keys())]
    found += [f"{path}.{name} is no field" for name in value if name not in forms]
    for name, below in forms.items():
        if name in value:
            found += mistakes(value[name], below, f"{path}.{name}")
    return found
