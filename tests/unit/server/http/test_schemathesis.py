"""Thousands of requests that the document allows, and that it forbids: none surprises.

Schemathesis makes them from the OpenAPI document. It is run as a program of its own: as a plugin of
pytest it would be loaded by every test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from memoranda.server.http.message_openapi import MESSAGE_PATH
from memoranda.server.http.openapi import document
from memoranda.server.http.settings import HttpSettings
from memoranda.wire.over_http import MESSAGE_MEDIA, WRITES
from tests.patience import HANG_SECONDS
from tests.quick import some
from tests.server_process import ServerThread

CASES = 2_000
"""How many requests there must have been."""
EXAMPLES = some(12)
"""Requests for each operation that are made by chance, besides those that cover its schema."""
HOOKS = """
import schemathesis
schemathesis.serializer.alias("application/protobuf", "application/octet-stream")
"""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
ENDLESS = "/v1/stores/{store}/subscribe"
METHODS = ["GetState", "ListKeys", "Replay", "Verify", WRITES, "none"]
"""Methods that get messages, of each shape, but for the endless one."""


def _request(port: int, method: str, target: str, body: Any = None) -> Any:
    connection = HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
    headers = {"content-type": "application/json"}
    connection.request(method, target, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    assert response.status == 200, answer
    return answer


def _filled(port: int) -> dict[str, list[Any]]:
    """Write some of everything, and return values for parameters that name what is there."""
    store = "/v1/stores/acme"
    talk = _request(port, "POST", f"{store}/transcripts", {"agent_id": "a", "text": "Ann: Bonn."})
    memories = [
        _request(port, "POST", f"{store}/memories",
                 {"agent_id": "a", "content": f"Ann lives in {city}", "title": city})["id"]
        for city in ("Bonn", "Rome", "Ulm")
    ]  # fmt: skip
    on_it = {"agent_id": "a", "content": "She moves", "on": memories[:1]}
    reflection = _request(port, "POST", f"{store}/reflect", on_it)["id"]
    _request(port, "POST", f"{store}/supersede", {"old": memories[0], "new": memories[1]})
    fact = {"agent_id": "a", "subject": "Ann", "relation": "lives in", "object": "Bonn"}
    made = _request(port, "POST", f"{store}/facts", fact)
    for number in range(3):
        value = {"value": {"n": number}, "because": [{"memory_id": memories[1]}]}
        _request(port, "PUT", f"{store}/agents/a/keys/k{number % 2}", value)
    return {
        "store": ["acme"],
        "agent_id": ["a", "b"],
        "key": ["k0", "k1", "none"],
        "memory_id": [*memories, reflection, "none"],
        "transcript_id": [talk["id"], "none"],
        "title": ["Bonn", "none"],
        "name": ["Ann", "nobody"],
        "entity": ["Ann", "nobody"],
        "fact": [made["assertion_id"], "none"],
        "commit_ts": [1, 2, 99],
        "relation": ["lives in", "likes"],
        "cursor": ["c", "d"],
        "erasure_id": ["none"],
        "notice_id": ["none"],
        "method": METHODS,
    }


def _with_values(values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the document with parameters of paths that mostly name what is there."""
    described = document()
    del described["paths"][ENDLESS]
    message = described["paths"][MESSAGE_PATH]["post"]["requestBody"]["content"]
    message[MESSAGE_MEDIA] = {"schema": {"type": "string", "format": "binary"}}
    parameters = [
        *described["components"]["parameters"].values(),
        *(
            parameter
            for item in described["paths"].values()
            for operation in item.values()
            if isinstance(operation, dict)
            for parameter in operation.get("parameters", ())
        ),
    ]
    for parameter in parameters:
        if parameter.get("in") == "path" and parameter["name"] in values:
            parameter["schema"] = {"enum": values[parameter["name"]]}
    return described


def _run(folder: Path, port: int, described: dict[str, Any], phases: str, *checks: str) -> int:
    """Run Schemathesis, and return how many requests it has made."""
    path = folder / "openapi.json"
    path.write_text(json.dumps(described))
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(path)),
        *("--url", f"http://127.0.0.1:{port}", "--phases", phases, "--checks", ",".join(checks)),
        *("--max-examples", str(EXAMPLES), "--seed", "1", "--continue-on-failure"),
        *("--request-timeout", str(HANG_SECONDS), "--suppress-health-check", "all"),
        *("--no-color", "--warnings", "off"),
    ]
    (folder / "hooks.py").write_text(HOOKS)
    run = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=4 * HANG_SECONDS,
    )
    assert run.returncode == 0, run.stdout[-8_000:] + run.stderr[-2_000:]
    generated = re.search(r"(\d+) generated", run.stdout)
    assert generated is not None, run.stdout
    return int(generated[1])


@pytest.mark.slow
def test_no_request_surprises(tmp_path: Path) -> None:
    stores = tmp_path / "stores"
    stores.mkdir()
    with ServerThread(folder=stores, create=["acme"], http=HttpSettings(port=0)) as server:
        port = server.server.http_port
        values = _filled(port)
        described = _with_values(values)
        assert _run(tmp_path, port, described, "coverage,fuzzing", *CHECKS) >= CASES
        # A name that is not there is no wrong one: all names are allowed here.
        described = _with_values({"store": values["store"], "method": METHODS})
        checks = (*CHECKS, "negative_data_rejection")
        assert _run(tmp_path, port, described, "coverage", *checks) >= CASES
