"""The files of `deploy/`: each passes its linter, and they agree with each other and with us."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from memoranda.cli.configuration.addresses import parse_address
from memoranda.cli.configuration.resolution import resolve, unknown_variables
from memoranda.cli.configuration.schema import Configuration
from memoranda.cli.main import cli as group
from memoranda.server.http.settings import HttpSettings
from memoranda.server.http.system import HEALTH, READY
from memoranda.storage.postgres.database_url import parse_database
from tests.certificates import make_certificate
from tests.patience import HANG_SECONDS
from tests.server_process import ServerThread

DEPLOY = Path(__file__).parents[3] / "deploy"
UNIT, DOCKERFILE = DEPLOY / "memoranda.service", DEPLOY / "Dockerfile"
COMPOSE, KUBERNETES = DEPLOY / "compose.yaml", DEPLOY / "kubernetes.yaml"
CITUS = DEPLOY / "compose.citus.yaml"
USER = "10001"
DATA, BACKUPS, SECRETS = "/var/lib/memoranda", "/var/backups/memoranda", "/etc/memoranda/tls"
MAX_EXPOSURE = "20"
"""Tenths of systemd's exposure level: 20 of 100 is "ok", and most services have over 90."""


def run(program: str, *arguments: object) -> str:
    """Run a linter and return what it says; skip the test where it is not installed."""
    path = shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))
    if path is None:
        pytest.skip(f"{program} is not installed: this file is not checked by its linter here")
    process = subprocess.run(
        [path, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, output
    return output


# Linters.


def test_the_dockerfile_passes_hadolint() -> None:
    assert run("hadolint", DOCKERFILE) == ""


@pytest.mark.parametrize("path", [COMPOSE, CITUS], ids=lambda path: path.name)
def test_a_compose_file_fits_its_specification(path: Path) -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", path)


def test_the_manifest_fits_the_schemas_of_kubernetes() -> None:
    assert "WARN" not in run("kubernetes-validate", "--strict", KUBERNETES)


@pytest.fixture
def installed_unit(tmp_path: Path) -> Path:
    """The unit as it is after installing: its program exists."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/memoranda/bin/memoranda", sys.executable))
    return unit


def test_systemd_understands_the_unit(installed_unit: Path) -> None:
    assert installed_unit.name not in run("systemd-analyze", "verify", installed_unit)


def test_systemd_finds_the_unit_hardened(installed_unit: Path) -> None:
    options = ("--offline=yes", f"--threshold={MAX_EXPOSURE}", "--no-pager")
    assert "exposure level" in run("systemd-analyze", "security", *options, installed_unit)


# What the linters do not know.


def objects(kind: str) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(KUBERNETES.read_text()) if item["kind"] == kind]


def pod() -> dict[str, Any]:
    (stateful_set,) = objects("StatefulSet")
    pod: dict[str, Any] = stateful_set["spec"]["template"]["spec"]
    return pod


def service(path: Path = COMPOSE) -> dict[str, Any]:
    service: dict[str, Any] = yaml.safe_load(path.read_text())["services"]["memoranda"]
    return service


def configurations(folder: Path) -> list[Configuration]:
    """Return the files of settings that are deployed."""
    (config_map,) = objects("ConfigMap")
    manifest = folder / "config.toml"
    manifest.write_text(config_map["data"]["config.toml"])
    return [resolve(path, {}).configuration for path in (DEPLOY / "config.toml", manifest)]


def test_settings_are_right_and_name_what_is_mounted(tmp_path: Path) -> None:
    for configuration in configurations(tmp_path):
        server, jobs = configuration.server, configuration.jobs
        assert (configuration.stores, jobs.backup.to) == (DATA, BACKUPS)
        assert (server.tls_cert, server.tls_key) == (f"{SECRETS}/tls.crt", f"{SECRETS}/tls.key")
        assert not server.insecure
        assert server.http is not None
        ports = {parse_address("grpc", server.grpc)[1], parse_address("http", server.http)[1]}
        assert ports == {7420, 7421}
        assert {"backup", "restore_drill"} <= {job.name for job in jobs.scheduled}


def test_commands_of_the_unit_exist() -> None:
    context = group.make_context("memoranda", [], resilient_parsing=True)
    for line in re.findall(r"^Exec\w+=/opt/memoranda/bin/memoranda (.*)$", UNIT.read_text(), re.M):
        command: Any = group
        for word in line.split():
            if not word.startswith(("/", "-")):
                command = command.get_command(context, word)
                assert command is not None, line
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in line.split() if word.startswith("-")} <= options


@pytest.mark.parametrize("path", [UNIT, DOCKERFILE, COMPOSE, CITUS, KUBERNETES])
def test_variables_exist(path: Path) -> None:
    names = re.findall(r"\bMEMORANDA_[A-Z_]+", path.read_text())
    assert names
    assert unknown_variables(dict.fromkeys(names, "")) == []


def test_the_image_runs_as_a_user_without_rights() -> None:
    text = DOCKERFILE.read_text()
    assert re.findall(r"^USER (.*)$", text, re.M) == [f"{USER}:{USER}"]
    assert re.search(rf"groupadd --gid {USER} .*\n.*useradd --uid {USER} --gid {USER}", text)
    assert re.findall(r"^EXPOSE (.*)$", text, re.M) == ["7420 7421"]
    assert re.search(r"^HEALTHCHECK ", text, re.M)
    for source in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M):
        for name in source.split():
            assert (DEPLOY.parent / name).exists(), "what is copied is there"


@pytest.mark.parametrize("path", [COMPOSE, CITUS], ids=lambda path: path.name)
def test_the_composed_server_has_no_rights_and_a_read_only_root(path: Path) -> None:
    server = service(path)
    assert server["user"] == f"{USER}:{USER}"
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["security_opt"] == ["no-new-privileges:true"]
    places = {volume.split(":")[1] for volume in server["volumes"]}
    assert places == {DATA, BACKUPS, SECRETS, "/etc/memoranda/config.toml"}
    assert {port.split(":")[1] for port in server["ports"]} == {"7420", "7421"}
    assert any(place.startswith("/tmp") for place in server["tmpfs"])


def test_only_the_server_reaches_the_nodes_of_citus() -> None:
    project = yaml.safe_load(CITUS.read_text())
    services: dict[str, Any] = project["services"]
    nodes = {name for name, node in services.items() if "volumes" in node} - {"memoranda"}
    assert nodes == {"coordinator", "worker-1", "worker-2"}
    assert project["networks"]["database"] == {"internal": True}
    for name in (*nodes, "nodes"):
        assert services[name]["networks"] == ["database"]
        assert "ports" not in services[name]
    commands = " ".join(services["nodes"]["command"])
    assert all(f"('{name}'" in commands for name in nodes), "each is a node of the cluster"
    database = parse_database("stores", services["memoranda"]["environment"]["MEMORANDA_STORES"])
    assert urlsplit(database.conninfo).hostname == "coordinator"
    assert database.index is not None
    assert str(database.index).startswith(DATA), "the index outlives the container"
    assert "postgres" in re.findall(r"'\.\[(.*)\]'", DOCKERFILE.read_text())[0].split(",")


def test_the_pod_has_no_rights_and_a_read_only_root() -> None:
    spec = pod()
    (container,) = spec["containers"]
    context = spec["securityContext"] | container["securityContext"]
    assert str(context["runAsUser"]) == str(context["fsGroup"]) == USER
    assert context["runAsNonRoot"] is True
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    volumes = {volume["name"] for volume in spec["volumes"]}
    (stateful_set,) = objects("StatefulSet")
    assert stateful_set["spec"]["replicas"] == 1, "one server owns a store"
    claims = {claim["metadata"]["name"] for claim in stateful_set["spec"]["volumeClaimTemplates"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts.keys() == volumes | claims
    assert {mounts["data"], mounts["backups"], mounts["tls"]} == {DATA, BACKUPS, SECRETS}


def test_probes_ask_for_what_the_server_answers() -> None:
    (container,) = pod()["containers"]
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness")}
    probes["readiness"] = container["readinessProbe"]["httpGet"]
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": READY, "liveness": HEALTH, "readiness": READY,
    }  # fmt: skip
    assert {probe["scheme"] for probe in probes.values()} == {"HTTPS"}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"grpc": 7420, "http": 7421}


def test_time_to_stop_is_longer_than_the_drain(tmp_path: Path) -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.M)
    times = [seconds, service()["stop_grace_period"].removesuffix("s")]
    times.append(pod()["terminationGracePeriodSeconds"])
    for configuration in configurations(tmp_path):
        assert all(float(time) > 2 * configuration.server.drain for time in times)


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_the_health_check_tells_a_server_that_is_ready(
    tmp_path: Path,
    is_encrypted: bool,  # noqa: FBT001
) -> None:
    def check(port: int) -> int:
        command = [sys.executable, str(DEPLOY / "healthcheck.py"), str(port)]
        return subprocess.run(command, timeout=HANG_SECONDS, check=False).returncode

    tls = make_certificate(tmp_path, "memory.example.org") if is_encrypted else None
    with ServerThread(folder=tmp_path, http=HttpSettings(port=0), tls=tls) as server:
        assert check(server.server.http_port) == 0
        port = server.server.http_port
    assert check(port) == 1
