"""Each view, used as somebody would who sees it for the first time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from memoranda import Signer
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.http.settings import HttpSettings
from tests.browser.browser import Viewer, needs_chromium
from tests.browser.downloads import download, verify
from tests.patience import wait_until
from tests.server_process import ServerThread

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
Serve = Callable[..., str]


def commit_of(path: Path, namespace: str, text: str) -> int:
    """Return the commit that has a text in an operation."""
    with memoranda.open(path, read_only=True) as store:
        for event in store.replay(agent_id="clerk", namespace=namespace):
            if any(text in json.dumps(operation.value) for operation in event.operations):
                return event.commit_ts
    raise AssertionError(f"there is no {text!r}")


def test_before_a_supersede_the_old_belief_stands(story: Path, serve: Serve, view: View) -> None:
    before = commit_of(story, "beliefs", "Pay Nordlys on delivery only")
    viewer = view(serve(file=story))
    page = viewer.open(f"/timeline?at={before}")
    known = page.get_by_label("What the agent knew")
    belief = known.locator(".item", has_text="Nordlys cannot be relied on")
    belief.wait_for()
    assert belief.get_by_text("superseded").count() == 0
    viewer.screenshot("timeline")
    for _ in range(2):  # the better reflection, and the link that supersedes
        page.keyboard.press("ArrowRight")
    belief.get_by_text("superseded").wait_for()
    changes = page.get_by_label("What this event changed")
    link = changes.locator("li", has_text="supersedes")
    link.get_by_text("Nordlys cannot be relied on").wait_for()
    link.get_by_text("Nordlys is starting anew").wait_for()
    page.get_by_text("Pay Nordlys within a week").first.wait_for()
    changes.get_by_text("that a belief rests on something that was superseded").wait_for()


def test_an_event_says_what_it_changed(story: Path, serve: Serve, view: View) -> None:
    with memoranda.open(story, read_only=True) as store:
        late = next(
            event.commit_ts
            for event in store.replay(agent_id="clerk", namespace="facts")
            for operation in event.operations
            if operation.type.value == "assert" and "Tall Ships" in json.dumps(operation.value)
        )
    page = view(serve(file=story)).open(f"/timeline?at={late}")
    changes = page.get_by_label("What this event changed")
    changes.get_by_text("learned").wait_for()
    closed = changes.locator("li", has_text="Nordlys").inner_text()
    assert "Jun 1, 2023" in closed
    assert "Sep 1, 2021" in closed


def test_an_event_shows_the_words_it_stored_and_what_it_reopened(
    story: Path, serve: Serve, view: View
) -> None:
    with memoranda.open(story, embedder=None) as store:
        clerk = store.bind(agent_id="clerk", namespace="talks")
        clerk.retract_fact(subject="Ann", relation="lives in", object="Oslo")
        talk = next(
            event.commit_ts
            for event in store.replay(agent_id="clerk", namespace="talks")
            if event.operations[0].type.value == "transcript"
        )
        last = store.stats().commits
    page = view(serve(file=story)).open(f"/timeline?at={last}")
    changes = page.get_by_label("What this event changed")
    changes.locator("li", has_text="reopened").get_by_text("Bergen").wait_for()
    changes.locator("li", has_text="no longer believed").get_by_text("Oslo").wait_for()
    page.goto(page.url.replace(f"at={last}", f"at={talk}"))
    changes.locator(".turn", has_text="I report to Carol").wait_for()
    page.keyboard.press("ArrowRight")
    changes.locator("mark", has_text="I live in Bergen.").first.wait_for()


def test_an_updated_memory_shows_what_it_said_before(story: Path, serve: Serve, view: View) -> None:
    with memoranda.open(story, embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        memory = clerk.remember("The office is in Bergen", title="office")
        clerk.remember("The office is in Oslo", title="office")
        clerk.retract_memory(memory.id)
        last = store.stats().commits
    page = view(serve(file=story)).open(f"/timeline?at={last - 1}")
    changes = page.get_by_label("What this event changed")
    changes.locator("del", has_text="The office is in Bergen").wait_for()
    changes.get_by_text("The office is in Oslo").wait_for()
    page.keyboard.press("ArrowRight")
    changes.locator("del", has_text="The office is in Oslo").wait_for()


def test_two_moments_stand_side_by_side(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/timeline?at=2&space=default")
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Now choose another moment").wait_for()
    page.locator("h2", has_text="Commit 2 beside another").wait_for()
    page.locator(".events .event", has_text="policy").last.click()
    page.get_by_label("What this event changed").get_by_text("5 times that a key rests").wait_for()
    row = page.locator(".beside-row", has_text="policy").first
    row.wait_for()
    assert "500" in row.locator("> div").nth(0).inner_text()
    assert "300" in row.locator("> div").nth(1).inner_text()
    viewer.screenshot("two-moments")


def test_filters_leave_what_was_asked_for(shown: str, view: View) -> None:
    page = view(shown).open("/")
    page.get_by_role("button", name="Facts", exact=True).click()
    page.locator(".events .event", has_text="set a relation").wait_for()
    wait_until(lambda: page.locator(".event", has_text="stored a conversation").count() == 0)
    page.get_by_role("button", name="Facts", exact=True).click()
    page.get_by_label("Find a key or a text").fill("tall ships")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=tall*")
    page.locator(".events .event", has_text="learned Ann works at Tall Ships").wait_for()
    wait_until(lambda: page.locator(".events .event", has_text="progress").count() == 0)
    page.get_by_label("Find a key or a text").fill("no such words")
    page.keyboard.press("Enter")
    page.get_by_text("No event matches").wait_for()


def test_a_new_commit_appears_by_itself(served: str, view: View) -> None:
    page = view(served).open("/")
    page.locator(".events li.current").wait_for()
    page.evaluate(
        """() => fetch('/v1/stores/-/agents/clerk/keys/fresh?namespace=default', {method: 'PUT',
        headers: {'content-type': 'application/json'}, body: '{"value": {"is": "new"}}'})"""
    )
    page.locator(".events li.current", has_text="fresh").wait_for()
    page.get_by_label("What the agent knew").get_by_text("fresh").wait_for()


def test_why_leads_to_the_highlighted_words(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/why?key=orders/polaris&space=facts")
    page.get_by_text("no longer rests on what is believed").wait_for()
    page.locator(".tree").get_by_text("superseded by “Ann has left Polaris”").first.wait_for()
    chat = page.get_by_label("Conversation")
    assert chat.locator("mark").inner_text() == "Since June 2023 I buy for Polaris"
    assert chat.locator(".who").first.inner_text().startswith("Ann")
    viewer.screenshot("why")
    page.locator(".tree a", has_text="Send Polaris' offers to Ann").click()
    page.locator("h1", has_text="Send Polaris' offers to Ann").wait_for()


def test_a_decision_empties_the_inbox_and_appears_as_an_event(served: str, view: View) -> None:
    viewer = view(served)
    page = viewer.open("/inbox")
    dependent = page.locator(".dependent", has_text="Send Polaris' offers to Ann")
    notice = page.locator(".notice", has=dependent)
    notice.get_by_text("Ann has left Polaris").wait_for()
    viewer.screenshot("inbox")
    notice.get_by_role("button", name="Revise").click()
    notice.locator("textarea").fill("Ask Polaris who buys now")
    notice.get_by_label("Note").fill("she left")
    notice.get_by_role("button", name="Revise", exact=True).click()
    notice.wait_for(state="detached")
    while (left := page.locator(".notice").count()) > 0:
        page.locator(".notice").first.get_by_role("button", name="Keep").click()
        page.wait_for_function(f"() => document.querySelectorAll('.notice').length < {left}")
    page.get_by_text("Nothing to decide").wait_for()
    page.get_by_role("tab", name="Decided").click()
    page.locator(".notice", has_text="she left").wait_for()
    page.get_by_role("link", name="Timeline").click()
    page.locator(".events .event", has_text="decided").last.wait_for()


def test_the_inbox_lists_stale_keys(shown: str, view: View) -> None:
    page = view(shown).open("/inbox")
    page.get_by_role("tab", name="Stale keys").click()
    keys = page.get_by_label("Stale keys")
    row = keys.locator("li", has_text="orders/polaris")
    row.get_by_text("rests on Ann works at Polaris").wait_for()
    row.get_by_text("what it rests on").click()
    page.get_by_text("no longer rests on what is believed").wait_for()


def test_words_are_marked_in_the_message_they_are_from(
    tmp_path: Path, serve: Serve, view: View
) -> None:
    path = tmp_path / "talk.db"
    with memoranda.open(path, embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        talk = clerk.store_transcript(
            [
                {"role": "user", "name": "Zoë", "content": "Grüße!\nI moved to Oslo."},
                {"role": "assistant", "content": "I moved to Oslo. So I note."},
            ]
        )
        start = talk.text().encode().rindex(b"I moved to Oslo.")
        note = clerk.remember("Zoë moved", transcript=talk.id, spans=[(start, start + 16)])
        clerk.write(key="home", value={"is": "Oslo"}, because=[note.ref])
    page = view(serve(file=path)).open("/why?key=home&space=default")
    mark = page.get_by_label("Conversation").locator("mark")
    mark.wait_for()
    assert mark.inner_text() == "I moved to Oslo."
    turn = page.locator(".turn", has=page.locator("mark"))
    assert turn.locator(".who").inner_text() == "assistant"


def test_keys_and_facts_are_revised_and_retracted_in_place(
    story: Path, serve: Serve, view: View
) -> None:
    page = view(serve(file=story)).open("/inbox")
    key = page.locator(".notice", has=page.locator(".dependent", has_text="invoice/2")).first
    key.get_by_role("button", name="Revise").click()
    key.locator("textarea").fill('{"verdict": "held"}')
    key.get_by_role("button", name="Revise", exact=True).click()
    key.wait_for(state="detached")
    fact = page.locator(
        ".notice", has=page.locator(".dependent", has_text="Ann works at Polaris")
    ).first
    fact.get_by_role("button", name="Retract").click()
    fact.wait_for(state="detached")
    other = page.locator(".notice", has=page.locator(".dependent", has_text="invoice/3")).first
    other.get_by_role("button", name="Retract").click()
    other.wait_for(state="detached")
    page.goto(page.url.replace("/inbox", "/timeline?space=default"))
    known = page.get_by_label("What the agent knew")
    known.locator(".item", has_text="invoice/2").get_by_text("held").wait_for()
    assert known.locator(".item", has_text="invoice/3").count() == 0
    page.get_by_label("Namespace", exact=True).select_option("facts")
    known.get_by_text("Ann has left Polaris").wait_for()
    assert known.locator(".of-fact", has_text="Polaris").count() == 0


def test_a_belief_is_retracted_and_a_value_that_is_no_json_refused(
    story: Path, serve: Serve, view: View
) -> None:
    page = view(serve(file=story)).open("/inbox")
    key = page.locator(".notice", has=page.locator(".dependent", has_text="invoice/2")).first
    key.get_by_role("button", name="Revise").click()
    key.locator("textarea").fill("held")
    key.get_by_role("button", name="Revise", exact=True).click()
    key.get_by_text("This is not JSON").wait_for()
    belief = page.locator(
        ".notice", has=page.locator(".dependent", has_text="Send Polaris' offers")
    )
    belief.get_by_role("button", name="Retract").click()
    belief.wait_for(state="detached")
    page.get_by_role("tab", name="Decided").click()
    page.locator(".notice .chip", has_text="retracted").first.wait_for()
    revised = page.locator(".notice", has_text="they deserve a chance")
    revised.get_by_text("Pay Nordlys within a week").wait_for()
    page.goto(page.url.partition("/inbox")[0] + "/why?space=facts")
    item = page.locator(".item", has_text="Send Polaris' offers to Ann")
    page.locator(".column").first.wait_for()
    assert item.count() == 0 or "retracted" in item.inner_text()


def test_a_change_deep_in_a_value_is_told_from_what_stayed(
    story: Path, serve: Serve, view: View
) -> None:
    settings = {f"option{number}": number for number in range(30)}
    with memoranda.open(story, embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        clerk.write(key="settings", value={"mail": {"from": "Ann", "cc": ["Bo"]}, **settings})
        clerk.write(
            key="settings", value={"mail": {"from": "Ann", "cc": ["Bo", "Zoë"]}, **settings}
        )
    page = view(serve(file=story)).open("/")
    value = page.get_by_label("What this event changed").locator(".value")
    value.locator("ins").wait_for()
    assert value.locator("del").inner_text() == '[ "Bo" ]'
    assert value.locator("ins").inner_text() == '[ "Bo", "Zoë" ]'
    assert value.locator(".name").all_inner_texts() == ["mail.cc"]
    assert "31 other members as before" in value.inner_text()


def test_an_earlier_known_time_does_not_know_the_correction(
    story: Path, serve: Serve, view: View
) -> None:
    with memoranda.open(story, read_only=True) as store:
        facts = store.timeline(
            agent_id="clerk", namespace="facts", subject="Ann", relation="works at"
        )
        assert "Tall Ships" in [str(fact.object) for fact in facts]
    before = commit_of(story, "facts", "Ann was at Tall Ships")
    viewer = view(serve(file=story))
    page = viewer.open("/facts")
    bar = page.locator(".fact-bar", has_text="Tall Ships")
    bar.wait_for()
    viewer.screenshot("facts")
    page.get_by_label("Known time").fill(str(before))
    bar.wait_for(state="detached")
    page.get_by_label("Valid time").fill(str(1_660_000_000_000))
    page.wait_for_url("**valid=2022*")
    faded = page.locator(".fact-bar.faded", has_text="Polaris")
    faded.wait_for()
    page.get_by_role("tab", name="Graph").click()
    page.locator(".graph .edge").first.wait_for()
    viewer.screenshot("graph")


def test_recall_shows_what_found_an_answer(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/recall?space=talks")
    page.get_by_label("Question").fill("Where does Ann live?")
    page.get_by_role("button", name="Recall").click()
    first = page.locator(".hit").first
    first.get_by_text("Ann lives in Oslo").wait_for()
    assert "words" in first.locator(".score").inner_text()
    cascade = page.get_by_label("What found the answers").inner_text().split("\n")
    assert "meaning is not searched" in cascade
    assert any(line.endswith("passed the filters") for line in cascade)
    ended = page.get_by_label("Left out").locator("li", has_text="Ann lives in Bergen")
    assert "no longer held" in ended.inner_text()
    first.get_by_text("The words it rests on").click()
    assert first.locator("mark").inner_text() == "I moved to Oslo last week."
    viewer.screenshot("recall")
    page.get_by_label("True on").fill("2024-06-01")
    page.get_by_role("button", name="Recall").click()
    page.locator(".hit").first.get_by_text("Ann lives in Bergen").wait_for()


def test_an_erased_person_leaves_a_certificate_that_verifies(
    story: Path, tmp_path: Path, serve: Serve, view: View
) -> None:
    with ServerThread(file=story, tokens=False, http=HttpSettings(port=0)) as server:
        viewer = view(f"http://{server.server.http_address}")
        page = viewer.open("/trust")
        page.get_by_role("button", name="Verify").click()
        page.get_by_text("it holds").wait_for()
        desk = page.get_by_label("Erasure desk")
        desk.get_by_label("Its name in facts").fill("Ann")
        desk.locator("select[name=space]").select_option("facts")
        desk.get_by_label("Reason").fill("she asked for it")
        desk.get_by_role("button", name="Preview").click()
        desk.get_by_text("4 operations in 4 events").wait_for()
        viewer.screenshot("trust")
        desk.get_by_role("button", name="Erase for good").click()
        entry = page.locator(".certificate", has_text="she asked for it")
        entry.wait_for()
        saved = download(page, entry.get_by_role("button", name="Certificate"))
        certificate = json.loads(saved.read_text("utf-8"))["certificate"]
        assert (certificate["target"], certificate["operations"]) == ("entity", 4)
        assert verify("certificate", saved) == 0
        entry.get_by_role("button", name="Proof").click()
        page.get_by_text("no checkpoint covers commit").wait_for()
        viewer.complaints.clear()  # the browser tells of the refused request
        viewer.close()
    with memoranda.open(story, embedder=None) as store:
        store.checkpoint(signer=Signer("example.com/log", bytes(32)))
        lines = "".join(f"{entry.key.line}\n" for entry in store.trusted_keys())
    keys = tmp_path / "keys"
    keys.write_text(lines)
    page = view(serve(file=story)).open("/trust")
    entry = page.locator(".certificate", has_text="she asked for it")
    proof = download(page, entry.get_by_role("button", name="Proof"))
    assert verify("inclusion", proof, "--key-file", str(keys)) == 0
    saved = download(page, entry.get_by_role("button", name="Certificate"))
    assert verify("certificate", saved, "--key-file", str(keys)) == 0
    changed = json.loads(saved.read_text("utf-8"))
    assert changed["certificate"] == certificate
    changed["certificate"]["reason"] = "he asked for it"
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    assert verify("certificate", tmp_path / "changed.json", "--key-file", str(keys)) == 3


def test_the_erasure_desk_erases_a_memory_a_key_and_a_namespace(served: str, view: View) -> None:
    page = view(served).open("/why?space=beliefs")
    page.locator(".item", has_text="Nordlys was late again").get_by_text("why").click()
    page.get_by_role("link", name="Erase").click()
    desk = page.get_by_label("Erasure desk")
    certificates = page.get_by_label("Certificates")

    def erase(kind: str, name: str | None, reason: str) -> None:
        if name is not None:
            desk.locator("select[name=target]").select_option(label=kind)
            desk.locator("input[name=value]").fill(name)
        desk.get_by_label("Reason").fill(reason)
        desk.get_by_role("button", name="Preview").click()
        desk.get_by_text("would lose").wait_for()
        desk.get_by_role("button", name="Erase for good").click()
        certificates.locator(".certificate", has_text=reason).wait_for()

    erase("A memory", None, "first")
    page.get_by_label("Erasure desk").locator("select[name=target]").select_option(label="A key")
    desk.locator("select[name=space]").select_option("facts")
    erase("A key", "orders/polaris", "second")
    erase("A whole namespace", "talks", "third")
    spaces = page.get_by_label("Namespace of events")
    wait_until(lambda: "talks" not in spaces.inner_text())
    page.get_by_role("link", name="Why").click()
    page.get_by_label("Namespace", exact=True).select_option("beliefs")
    page.locator(".item", has_text="Nordlys sent the wrong parts").wait_for()
    assert page.locator(".item", has_text="Nordlys was late again").count() == 0
    page.get_by_label("Namespace", exact=True).select_option("facts")
    page.locator(".item", has_text="Ann buys for Polaris").wait_for()
    assert page.locator(".item", has_text="orders/polaris").count() == 0


def test_a_verification_shows_how_far_it_is_and_can_be_cancelled(
    tmp_path: Path, serve: Serve, view: View
) -> None:
    path = tmp_path / "long.db"
    with memoranda.open(path, embedder=None, durability="relaxed") as store:
        agent = store.bind(agent_id="walker")
        for number in range(2000):
            agent.write(key=f"step/{number}", value={"number": number})
    page = view(serve(file=path)).open("/trust")
    page.evaluate(
        """() => new MutationObserver(() => {
            const bar = document.querySelector('progress[value]');
            if (bar) window.steps = (window.steps ?? []).concat(`${bar.value}/${bar.max}`);
        }).observe(document.body, { subtree: true, childList: true, attributes: true })"""
    )
    page.get_by_role("button", name="Verify").click()
    page.get_by_text("it holds").wait_for()
    assert page.evaluate("() => window.steps.at(-1)") == "2000/2000"
    page.get_by_label("Also compare every view").check()
    page.route("**/verify", lambda route: None)  # it takes for ever
    page.get_by_role("button", name="Verify").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Verify").wait_for()
    assert page.get_by_text("it holds").count() == 0
    assert page.locator(".problem").count() == 0


def test_a_token_without_a_namespace_sees_nothing_of_it(
    story: Path, tmp_path: Path, serve: Serve, view: View
) -> None:
    with memoranda.open(story, embedder=None) as store:
        store.write(agent_id="clerk", namespace="open", key="visible", value={"is": "seen"})
    with ControlStore(control_path(file=story)) as control:
        secret, _ = control.tokens.create(
            store=None, agent="clerk", namespaces=["open/*"], verbs=["read"]
        )
    viewer = view(serve(file=story, tokens=None))
    page = viewer.open("/")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("That token does not open anything").wait_for()
    assert viewer.violations() == []
    viewer.screenshot("sign-in")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".events .event", has_text="visible").wait_for()
    options = page.get_by_label("Namespace of events").inner_text()
    assert "open" in options
    for hidden in ("beliefs", "facts", "talks"):
        assert hidden not in options
    assert page.evaluate("() => document.cookie") == ""
    for path in (
        "/facts",
        "/inbox",
        "/inbox?status=stale",
        "/trust",
        "/recall?query=Where+does+Ann+live&space=talks",
        "/why",
    ):
        viewer.open(path)
        viewer.settle()
        text = page.locator("#main").inner_text()
        for hidden in ("Nordlys", "Oslo", "Polaris"):
            assert hidden not in text
    viewer.complaints[:] = [line for line in viewer.complaints if "401" not in line]
    viewer.complaints[:] = [line for line in viewer.complaints if "403" not in line]
