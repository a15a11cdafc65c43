"""The workflows call what there is, and the forms of issues are of the kind that GitHub reads."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [
    path
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    if path.stem != "config"
]
INPUTS = {"input", "textarea", "dropdown", "checkboxes"}


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text())


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_targets_that_make_has(path: Path):
    workflow = read(path)
    assert workflow[True], "`on` is true in YAML"
    assert workflow["permissions"] == {"contents": "read"}, "a job asks for more by itself"
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    every = " ".join(step.get("run", "") for step in steps(workflow))
    called = re.findall(r"make ([a-z-]+)", every)
    assert called
    assert {*called} <= {*targets}


def test_the_tests_run_on_the_oldest_and_the_newest_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (re.search(r":: (3\.\d+)$", line) for line in project["classifiers"])
    versions = [version[1] for version in found if version]
    assert project["requires-python"] == f">={versions[0]}"
    (job,) = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_of_an_issue_is_whole(path: Path):
    form = read(path)
    assert (
        {"name", "description", "body"} <= form.keys() <= {"name", "description", "title", "body"}
    )
    asked = [part for part in form["body"] if part["type"] in INPUTS]
    assert all(part["type"] in {*INPUTS, "markdown"} for part in form["body"])
    assert len({part["id"] for part in asked}) == len(asked)
    assert all(part["attributes"]["label"] for part in asked)
    assert any(part["validations"]["required"] for part in asked)


def test_a_result_that_is_not_reproduced_comes_with_what_can_be_judged():
    form = read(ROOT / ".github" / "ISSUE_TEMPLATE" / "result.yml")
    asked = {part["id"] for part in form["body"] if part["type"] in INPUTS}
    assert {"command", "commit", "machine", "records"} <= asked
