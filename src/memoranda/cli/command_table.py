"""The commands, their modules and their short help: what `memoranda --help` prints.

This module imports nothing. So help, the version and the completion of command names need neither
`click` nor a command's module. Tests compare every short help with the command's own.
"""

from __future__ import annotations

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("demo:demo", "Watch an agent work, crash, resume and explain itself."),
        "ui": ("ui:ui", "Open a page that shows what an agent knew, when, and why."),
    },
    "Keys": {
        "write": ("keys:write", "Write a value to a key."),
        "get": ("keys:get", "Print a key's value, now or as of a past moment."),
        "delete": ("keys:delete", "Delete a key's value; its history stays."),
        "keys": ("keys:keys", "List the keys that have a value, in order."),
        "scan": ("keys:scan", "List keys with their values, in order."),
        "history": ("keys:history", "Show every version of a key, oldest first."),
        "diff": ("keys:diff", "Show which keys changed between two moments."),
    },
    "Memories": {
        "remember": ("memories:remember", "Store a memory."),
        "show": ("memories:show", "Show a memory, now or as of a past moment."),
        "memories": ("memories:memories", "List the memories of a namespace and its descendants."),
        "edit": ("memories:edit", "Change fields of a memory; adds a version."),
        "retract": ("memories:retract", "Retract a memory; its history and links stay."),
        "reflect": ("memories:reflect", "Store a reflection on other memories."),
        "link": ("links:link", "Link one memory to another."),
        "unlink": ("links:unlink", "End a link between two memories."),
        "supersede": (
            "links:supersede",
            "Replace a memory by another and notify its dependents.",
        ),
        "inbox": (
            "inbox:inbox",
            "List notices: keys, memories and facts whose evidence changed.",
        ),
        "resolve": ("inbox:resolve", "Resolve a notice from the inbox."),
    },
    "Transcripts and facts": {
        "transcript": ("transcripts:transcript", "Store, show and list transcripts."),
        "extract": ("transcripts:extract", "Extract memories and facts from a transcript."),
        "fact": ("facts:fact", "Assert, end and query bitemporal facts."),
    },
    "Search and provenance": {
        "recall": ("recall:recall", "Search memories, facts and transcripts."),
        "context": ("recall:context", "Search, and format the results for a prompt."),
        "origins": ("why:origins", "Show the sources of a memory, down to transcripts."),
        "why": ("why:why", "Explain a key, a memory or a fact by its sources."),
    },
    "Erasure and retention": {
        "forget": ("forget:forget", "Erase data for good and certify the erasure."),
        "certificate": ("forget:certificate", "Show an erasure certificate, or list them all."),
        "purge": ("forget:purge", "Remove the bytes of erased data from the files."),
        "sweep": ("forget:sweep", "Erase expired memories and transcripts that nothing cites."),
        "compact": ("maintenance:compact", "Compact the history of a namespace for good."),
        "configure": (
            "configure:configure",
            "Change the settings of a namespace and its descendants.",
        ),
    },
    "Log and proofs": {
        "replay": ("log:replay", "Show an agent's transactions in commit order."),
        "activity": ("log:activity", "Draw how many operations an agent made over time, by kind."),
        "tail": ("log:tail", "Follow an agent's transactions as they are committed."),
        "cursors": ("log:cursors", "List subscription cursors and their positions."),
        "audit": ("log:audit", "List actions and refusals, with hashes for content."),
        "verify": ("log:verify", "Verify the hash chain, the checkpoints and the views."),
        "signer": ("signers:signer", "Manage signing keys and the keys the log trusts."),
        "checkpoint": ("checkpoints:checkpoint", "Sign a checkpoint of the log and print it."),
        "checkpoints": ("checkpoints:checkpoints", "List the checkpoints in the store."),
        "prove": ("checkpoints:prove", "Print an inclusion proof of a commit."),
        "prove-growth": (
            "checkpoints:prove_growth",
            "Print a consistency proof between two checkpoints.",
        ),
        "prove-erasure": (
            "checkpoints:prove_erasure",
            "Print an erasure certificate with its proof.",
        ),
    },
    "Store": {
        "agents": ("directory:agents", "List the agents and their activity."),
        "namespaces": ("directory:namespaces", "List the namespaces and their activity."),
        "stats": ("log:stats", "Show the size and the state of the store."),
        "doctor": ("maintenance:doctor", "Check the store and suggest repairs."),
        "sql": ("maintenance:sql", "Run a read-only SQL query, or list what it can read."),
        "rebuild": ("log:rebuild", "Rebuild every view from the log and compare."),
        "reindex": (
            "maintenance:reindex",
            "Bring the full-text index and the vectors up to date.",
        ),
        "backup": ("backups:backup", "Copy the store to a new file while others write."),
        "copy": (
            "backup:copy",
            "Copy a store to another file or database, and verify the copy.",
        ),
        "migrate": ("migrate:migrate", "Bring a store to the format of this version."),
        "restore": ("backup:restore", "Replace the store by a backup."),
        "fork": ("backup:fork", "Copy the log up to a moment into a new log."),
        "export": ("backup:export_group", "Export data to a file."),
        "import": ("backup:import_group", "Import an exported log or conversations."),
        "completion": ("maintenance:completion", "Print a shell completion script."),
    },
    "Server": {
        "serve": (
            "serve:serve",
            "Serve a store, or a folder of stores, over gRPC, HTTP and MCP.",
        ),
        "postgres": ("postgres:postgres", "Spread stores over several PostgreSQL servers."),
        "stores": ("stores:stores", "Create, list, rename, move and drop stores of a server."),
        "token": ("tokens:token", "Create, list, rotate and revoke tokens of a server."),
        "config": ("config:config", "Show the settings and where they come from, or check a file."),
        "hook": ("hook:hook", "Give an assistant its memories, and store its messages."),
        "mcp": ("mcp:mcp", "Serve a store to an assistant over MCP, on stdin and stdout."),
    },
}
"""Section -> command name -> (module in `cli.commands` and attribute, short help)."""

COMMANDS: dict[str, tuple[str, str]] = {
    name: entry for section in SECTIONS.values() for name, entry in section.items()
}
"""Command name -> (module and attribute, short help), in the order of the help."""

SYNONYMS: dict[str, str] = {
    "add": "remember",
    "explain": "why",
    "find": "recall",
    "list": "keys",
    "log": "replay",
    "ls": "keys",
    "put": "write",
    "query": "recall",
    "read": "get",
    "rm": "delete",
    "search": "recall",
    "set": "write",
    "store": "write",
}
"""Names of other tools -> the command with that meaning, to suggest."""

OPTIONS: dict[str, str] = {
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}
USAGE = "memoranda [OPTIONS] COMMAND [ARGS]..."
DESCRIPTION = """\
State and memory for AI agents, on a log that can be replayed and proven.

Every write is an event in a hash-chained log, and every read is answered
from a view of that log."""
EPILOG = """\
New here? `memoranda demo` shows what it does, in a store of its own.
`memoranda COMMAND --help` shows a command's arguments and options.
Exit codes: 0 ok, 1 error, 2 usage, 3 verification failed, 4 not found,
5 conflict, 6 unproven."""


def help_page() -> str:
    """Return the help of the command group; no line is longer than 80 columns."""
    width = max(map(len, COMMANDS))
    blocks = [f"Usage: {USAGE}", _indent(DESCRIPTION), _section("Options", OPTIONS, width)]
    for title, section in SECTIONS.items():
        rows = {name: short_help for name, (_, short_help) in section.items()}
        blocks.append(_section(title, rows, width))
    blocks.append(_indent(EPILOG))
    return "\n\n".join(blocks) + "\n"


def _section(title: str, rows: dict[str, str], width: int) -> str:
    lines = (f"  {name.ljust(width)}  {text}" for name, text in rows.items())
    return "\n".join((f"{title}:", *lines))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))
