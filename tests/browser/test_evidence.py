"""The evidence that the page collects for others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from memoranda import Signer
from tests.browser.browser import Viewer, needs_chromium
from tests.browser.downloads import download, unpack, verify

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
Serve = Callable[..., str]


def test_the_evidence_is_what_an_auditor_can_verify(
    story: Path, tmp_path: Path, serve: Serve, view: View
) -> None:
    key = tmp_path / "keys"
    signer = Signer("example.com/log", bytes(32))
    with memoranda.open(story, embedder=None) as store:
        store.checkpoint(signer=signer)
        certificate = store.bind(agent_id="clerk").forget(key="policy", reason="a test")
        store.checkpoint(signer=signer)
        key.write_text("".join(f"{entry.key.line}\n" for entry in store.trusted_keys()))
    viewer = view(serve(file=story))
    trust = ("--key-file", str(key))

    page = viewer.open("/trust")
    saved = download(page, page.get_by_role("button", name="Download the evidence"))
    folder = tmp_path / "log"
    names = unpack(saved, folder)
    claims = {"proofs": "inclusion", "growth": "consistency", "certificates": "certificate"}
    assert f"certificates/{certificate.erasure_id}.json" in names
    assert {name.split("/")[0] for name in names} == {"README.txt", "checkpoint.note", *claims}
    for name in names:
        if "/" in name:
            assert verify(claims[name.split("/")[0]], folder / name, *trust) == 0
            assert f"memoranda-verify {claims[name.split('/')[0]]} " in (
                folder / "README.txt"
            ).read_text("utf-8")
    assert verify("checkpoint", folder / "checkpoint.note", *trust) == 0

    page = viewer.open("/why?key=orders/polaris&space=facts")
    saved = download(page, page.get_by_role("button", name="Download the evidence"))
    folder = tmp_path / "why"
    names = unpack(saved, folder)
    nodes = json.loads((folder / "why.json").read_text("utf-8"))
    assert nodes[0]["ref"]["key"] == "orders/polaris"
    proofs = [name for name in names if name.startswith("proofs/")]
    assert {f"proofs/commit-{node['commit_ts']}.json" for node in nodes} == set(proofs)
    for name in proofs:
        assert verify("inclusion", folder / name, *trust) == 0
    (talk,) = (name for name in names if name.startswith("conversations/"))
    assert "Since June 2023 I buy for Polaris" in (folder / talk).read_text("utf-8")


def test_the_evidence_has_all_certificates_and_the_last_checkpoint(
    tmp_path: Path, serve: Serve, view: View
) -> None:
    """More certificates than any list shows at first, and more checkpoints than a short one has."""
    path, key, number, late = tmp_path / "erased.db", tmp_path / "keys", 210, 510
    signer = Signer("example.com/log", bytes(32))
    with memoranda.open(path, embedder=None, durability="relaxed") as store:
        agent = store.bind(agent_id="clerk")
        for index in range(number):
            agent.write(key=f"name/{index}", value={"is": "Zoë"})
        erased = {
            agent.forget(key=f"name/{index}", reason=f"wish {index}").erasure_id
            for index in range(number)
        }
        for index in range(late):
            agent.write(key="day", value={"number": index})
            store.checkpoint(signer=signer)
        key.write_text("".join(f"{entry.key.line}\n" for entry in store.trusted_keys()))
        commits = store.stats().commits
    page = view(serve(file=path)).open("/trust")
    certificates = page.locator(".certificate")
    certificates.first.wait_for()
    assert "wish 209" in certificates.first.inner_text()
    page.get_by_role("button", name="Show all 210").click()
    certificates.nth(number - 1).wait_for()
    page.get_by_label("Checkpoints").get_by_text(f"{commits} commits").wait_for()

    saved = download(page, page.get_by_role("button", name="Download the evidence"))
    folder = tmp_path / "log"
    names = unpack(saved, folder)
    assert {f"certificates/{erasure_id}.json" for erasure_id in erased} <= set(names)
    proofs = [name for name in names if name.startswith("proofs/")]
    assert len(proofs) == number
    note = (folder / "checkpoint.note").read_text("utf-8")
    assert note.split("\n")[1] == str(commits)
    assert json.loads((folder / proofs[-1]).read_text("utf-8"))["checkpoint"] == note
    assert verify("inclusion", folder / proofs[-1], "--key-file", str(key)) == 0
