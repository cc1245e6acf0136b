"""The commands about the log."""

from __future__ import annotations

import json

import apsw
import pytest

import memoranda
from memoranda.model.trace import TraceContext, Tracing
from memoranda.testing import FixedClock
from tests.unit.cli.runner import Cli

FAR_AHEAD = 4_000_000_000_000_000  # microseconds: the year 2096


def test_replay_shows_a_block_for_each_transaction(filled: Cli) -> None:
    first, second, *_ = filled("replay").split("\n\n")
    heading, operation = first.splitlines()
    commit, time, txn, actor = heading.split("  ")
    assert (commit, actor) == ("commit 1", "planner")
    assert time == filled.row("get", "goal")["committed_at"]
    assert txn.startswith("txn ")
    assert len(txn) < len("txn 01a1e108-7e7e-7089-8969-5beef162ef71")
    assert operation == '  write   goal  v1  {"text": "ship it"}'
    assert second.splitlines()[-1] == "          because goal@1"
    assert filled("replay", "--after", 4).splitlines()[1] == "  delete  tmp  v2"


def test_replay_in_json(filled: Cli) -> None:
    events = filled.rows("replay")
    assert [event["commit_ts"] for event in events] == [1, 2, 3, 4, 5]
    assert events[0].keys() == {
        *("commit_ts", "committed_at", "txn_id", "actor", "token", "operations"),
    }
    assert events[1]["operations"] == [
        {
            "type": "write",
            "namespace": "default",
            "agent_id": "planner",
            "key": "plan",
            "value": {"step": 1, "todo": ["a", "b"]},
            "version": 1,
            "because": [
                {"key": "goal", "version": 1, "agent_id": "planner", "namespace": "default"}
            ],
        }
    ]
    (deletion,) = events[4]["operations"]
    assert (deletion["type"], deletion["value"], deletion["version"]) == ("delete", None, 2)
    assert "because" not in deletion


def test_replay_within_bounds(filled: Cli) -> None:
    events = filled.rows("replay")

    def commits(*arguments: object) -> list[int]:
        return [event["commit_ts"] for event in filled.rows("replay", *arguments)]

    assert commits("--after", 3) == commits("--after", events[2]["token"]) == [4, 5]
    assert commits("--through", 2) == commits("--limit", 2) == [1, 2]
    second, fourth = events[1]["committed_at"], events[3]["committed_at"]
    assert commits("--from", second, "--to", fourth) == [2, 3]
    assert commits("--kind", "delete") == [5]
    assert commits("--kind", "write", "--kind", "delete") == [1, 2, 3, 4, 5]


def test_replay_of_all_namespaces_names_them(filled: Cli) -> None:
    filled("write", "plan", "{}", "--namespace", "team/eng")
    assert len(filled.rows("replay")) == 5
    assert len(filled.rows("replay", "--all-namespaces")) == 6
    output = filled("replay", "--all-namespaces")
    assert "  write   default  goal  v1" in output
    assert "  write   team/eng  plan  v1" in output


def test_replay_of_all_agents_names_them(filled: Cli) -> None:
    filled("write", "plan", "{}", "--agent", "other")
    filled.env["MEMORANDA_AGENT"] = None
    assert len(filled.rows("replay", "--all-agents")) == 6
    output = filled("replay", "--all-agents")
    assert "  write   planner  goal  v1" in output
    assert "  write   other  plan  v1" in output
    result = filled.run("replay", "--all-agents", "--namespace", "nowhere")
    assert "no events of any agent in namespace 'nowhere'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--from", "noon"), "--from: 'noon'"),
        (("--to", "noon"), "--to: 'noon'"),
        (("--after", "noon"), "--after: 'noon'"),
        (("--through", "noon"), "--through"),
        (("--through", "-1"), "--through: -1"),
        (("--kind", "noon"), "--kind: 'noon'"),
        (("--limit", "-1"), "--limit"),
        (("--namespace", "a//b"), "--namespace: 'a//b'"),
        (("--agent", ""), "--agent: is empty"),
    ],
)
def test_what_replay_cannot_take_is_named_as_it_was_typed(
    filled: Cli, arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in filled.fails(2, "replay", *arguments)


def test_replay_needs_an_agent(filled: Cli) -> None:
    filled.env["MEMORANDA_AGENT"] = None
    message = filled.fails(2, "replay")
    assert "--agent: is missing" in message
    assert "MEMORANDA_AGENT" in message
    assert json.loads(filled.fails(2, "replay", "--json"))["error"] == "InvalidInput"


def test_a_token_of_another_log_is_refused(filled: Cli) -> None:
    token = filled.rows("replay")[2]["token"]
    other = filled.home / "other.db"
    filled("write", "plan", "{}", "--db", other)
    assert "resume token" in filled.fails(1, "replay", "--db", other, "--after", token)


def test_nothing_to_replay_is_said(filled: Cli) -> None:
    result = filled.run("replay", "--agent", "ghost")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no events of agent 'ghost' in namespace 'default'" in result.stderr


def test_verify_prints_what_it_proved(filled: Cli) -> None:
    row = filled.row("verify")
    assert row.keys() == {
        "log_id", "commits", "head_hash", "last_committed_at", "warnings", "checkpoints",
        "last_checkpoint", "request_signed", "rows", "signed", "unproven",
    }  # fmt: skip
    assert (row["commits"], row["warnings"], row["rows"]) == (5, [], None)
    output = filled("verify")
    assert "chain holds" in output
    for fact in ("commits      5\n", row["head_hash"], row["log_id"]):
        assert fact in output


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_broken_chain_ends_with_its_own_code(filled: Cli, form: tuple[str, ...]) -> None:
    tamper(filled, "UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 3")
    assert "breaks at commit 3" in filled.fails(3, "verify", *form)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_changed_view_is_named_by_a_deep_look_only(filled: Cli, form: tuple[str, ...]) -> None:
    assert "views match the log" in filled("verify", "--deep")
    assert filled.row("verify", "--deep")["rows"] > 0
    tamper(filled, "UPDATE state SET version = version + 1")
    filled("verify")
    message = filled.fails(3, "verify", "--deep", *form)
    for part in ("view 'state'", "table 'state'", "differs in version", "memoranda rebuild"):
        assert part in message
    filled("rebuild")
    filled("verify", "--deep")


def test_warnings_reach_people_and_programs(filled: Cli) -> None:
    with memoranda.open(filled.db, clock=FixedClock(now=FAR_AHEAD)) as store:
        store.write(agent_id="planner", key="late", value={})
    for command in ("verify", "stats"):
        assert "check the clock" in filled.run(command).stderr
        (warning,) = filled.row(command)["warnings"]
        assert "check the clock" in warning


def test_rebuild_says_whether_anything_was_wrong(filled: Cli) -> None:
    assert "identical" in filled("rebuild")
    sound = filled.row("rebuild")
    assert sound.pop("rows") > 5
    assert sound == {"events": 5, "differing": [], "identical": True}
    tamper(filled, "DELETE FROM state")
    output = filled("rebuild")
    assert "from 5 events" in output
    assert "differed from the log: state" in output
    assert filled("keys") == "goal\nplan\n"
    tamper(filled, "DELETE FROM state")
    row = filled.row("rebuild")
    assert (row["identical"], row["differing"]) == (False, ["state"])


def test_stats(filled: Cli) -> None:
    row = filled.row("stats")
    assert row["store"] == str(filled.db)
    assert (row["commits"], row["agents"], row["keys"], row["epoch"]) == (5, 1, 2, 1)
    assert row["last_committed_at"] == filled.rows("replay")[-1]["committed_at"]
    output = filled("stats")
    for fact in (f"store         {filled.db}\n", "commits       5\n", "keys          2\n"):
        assert fact in output


def test_an_empty_store_answers_everything(cli: Cli) -> None:
    cli.fails(5, "write", "plan", "{}", "--expect-version", 7)
    for command in (("keys",), ("scan",), ("diff", 0), ("replay",)):
        assert cli.rows(*command) == []
        assert cli(*command) == ""
    assert cli.row("verify")["commits"] == 0
    assert "none yet" in cli("verify")
    assert cli.row("rebuild")["events"] == 0
    assert cli.row("stats")["last_committed_at"] is None
    assert "none yet" in cli("stats")
    for name in ("get", "history", "delete"):
        assert "not found: key 'plan' of agent 'planner'" in cli.fails(4, name, "plan")


def tamper(cli: Cli, statement: str) -> None:
    """Change the file behind the store's back."""
    database = apsw.Connection(str(cli.db))
    database.execute(statement)
    database.close()


def test_activity_draws_a_bar_for_each_part(filled: Cli) -> None:
    *lines, total = filled("activity", "--buckets", 2).splitlines()
    assert len(lines) == 2
    assert all("█" in line or "#" in line for line in lines)
    assert lines[0].split()[0] == filled.rows("replay")[0]["committed_at"][:10]
    assert "write" in lines[0]
    assert lines[1].endswith("delete 1")
    assert total == "5 operations in 5 events"


def test_activity_in_json(filled: Cli) -> None:
    events = filled.rows("replay")
    start, end = events[0]["committed_at"], events[-1]["committed_at"]
    (bucket,) = filled.rows("activity", "--from", start, "--to", end, "--buckets", 1)
    assert bucket == {"start": start, "end": end, "counts": {"write": 4}, "events": 4}


def test_activity_of_nobody(filled: Cli) -> None:
    result = filled.run("activity", "--agent", "nobody")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no events of agent 'nobody'" in result.stderr


def test_replay_shows_the_trace_of_a_commit(filled: Cli) -> None:
    trace = TraceContext(b"t" * 16, b"s" * 8)
    with memoranda.open(filled.db, embedder=None) as store, Tracing(trace):
        store.write(agent_id="planner", key="goal", value={"text": "rest"})
    assert f"  trace {trace.trace_id.hex()}\n" in filled("replay", "--after", 5)
    (event,) = filled.rows("replay", "--after", 5)
    assert event["trace_id"] == trace.trace_id.hex()
