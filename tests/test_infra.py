"""What stands in infra/ beside suites: it parses, and what it names is there. Containers are never
built here.
"""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgelake.flows.cli import make_parser
from tests.conftest import CHECKOUT

INFRA = CHECKOUT / "infra"


def read_compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((INFRA / "compose.yaml").read_text())
    return read


def commands() -> list[list[str]]:
    return [
        service["command"]
        for service in read_compose()["services"].values()
        if "command" in service
    ]


@pytest.mark.parametrize(
    "command", [words for words in commands() if words[0] == "judgelake"], ids=" ".join
)
def test_compose_names_commands_that_there_are(command: list[str]) -> None:
    options = make_parser().parse_args(command[1:])
    assert options.command == command[1]


def test_compose_starts_modules_and_programs_that_there_are() -> None:
    others = [words for words in commands() if words[0] != "judgelake"]
    assert [words[:2] for words in others] == [["python", "-m"], ["dask", "scheduler"]]
    assert callable(import_module(others[0][2]).main)
    ended = subprocess.run(
        [sys.executable, "-m", "dask", "scheduler", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [
        word for word in others[1] if word.startswith("--") and word not in ended.replace("/ ", "")
    ] == []


def test_compose_uses_one_image_and_names_services_that_there_are() -> None:
    services = read_compose()["services"]
    prefect, worker = (services[name]["environment"] for name in ("prefect", "api-worker"))
    assert prefect["PREFECT_SERVER_API_AUTH_STRING"] == worker["PREFECT_API_AUTH_STRING"]
    (made,) = (service["command"] for name, service in services.items() if name == "certificate")
    assert made[-1] == worker["DASK_CONFIG"]
    assert {service["image"] for name, service in services.items() if name != "postgres"} == {
        "judgelake"
    }
    needed = {name for service in services.values() for name in service.get("depends_on", ())}
    assert needed <= set(services)
    assert services["api-worker"]["environment"]["JUDGELAKE_SCHEDULER"] == "tls://scheduler:8786"


def test_dockerfile_copies_what_there_is() -> None:
    text = (INFRA / "Dockerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (.+) \S+$", text, re.M) for word in line.split()]
    assert [word for word in copied if not (CHECKOUT / word).exists()] == []
    assert {"flows", "schemas", "sql", "tasks"} <= set(copied)


def test_deployments_name_a_flow_by_module_and_its_parameters() -> None:
    (deployment,) = yaml.safe_load((INFRA / "prefect.yaml").read_text())["deployments"]
    module, _, name = deployment["entrypoint"].rpartition(".")
    text = (CHECKOUT / Path(*module.split(".")[1:])).with_suffix(".py").read_text()
    (body,) = re.findall(rf"^def {name}\((.*?)^\)", text, re.M | re.S)
    assert set(deployment["parameters"]) <= set(re.findall(r"^    (\w+):", body, re.M))
    assert "suite" in deployment["parameters"]
    assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    assert deployment["schedules"] == [{"cron": "0 2 * * *", "timezone": "UTC"}]
