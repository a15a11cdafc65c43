"""The JobSet that one copies: its numbers agree, and attnjax knows its words."""

from pathlib import Path

import yaml

from attnjax.lab.cli.main import parser
from attnjax.lab.cli.requeue import REQUEUE
from attnjax.lab.rehearsal import Topology
from attnjax.lab.runs.catalog import find
from attnjax.training.devices import join

ROOT = Path(__file__).parents[2]
JOBSET = yaml.safe_load((ROOT / "launch" / "sites" / "jobset.yaml").read_text())
(REPLICATED,) = JOBSET["spec"]["replicatedJobs"]
JOB = REPLICATED["template"]["spec"]
POD = JOB["template"]["spec"]
(CONTAINER,) = POD["containers"]


def test_attnjax_knows_the_command():
    python, dash, attnjax, *words = CONTAINER["command"]
    assert (python, dash, attnjax) == ("python", "-m", "attnjax")
    given = parser()[0].parse_args(words)
    assert find(given.experiment).exists()
    mounted = {volume["mountPath"] for volume in CONTAINER["volumeMounts"]}
    assert str(given.runs.parent) in mounted


def test_the_pods_are_the_hosts_of_the_slice_and_find_each_other():
    topology = POD["nodeSelector"]["cloud.google.com/gke-tpu-topology"]
    chips = Topology.named(f"v5e:{topology}")
    pods = JOB["parallelism"]
    assert pods == JOB["completions"]
    assert int(CONTAINER["resources"]["limits"]["google.com/tpu"]) * pods == chips.count
    environment = {entry["name"]: entry.get("value", "3") for entry in CONTAINER["env"]}
    name = JOBSET["metadata"]["name"]
    address = f"{name}-{REPLICATED['name']}-0-0.{JOBSET['spec']['network']['subdomain']}:8476"
    assert join._given(environment) == (address, pods, 3)


def test_a_saved_run_goes_on():
    codes = [rule.get("onExitCodes", {}).get("values") for rule in JOB["podFailurePolicy"]["rules"]]
    assert [REQUEUE] in codes
    rules = {rule["action"]: rule for rule in JOBSET["spec"]["failurePolicy"]["rules"]}
    again = rules["RestartJobSetAndIgnoreMaxRestarts"]
    assert again["onJobFailureReasons"] == ["PodFailurePolicy"]
