"""The agent of `memoranda demo`: a clerk that settles invoices, one transaction each.

It runs in its own process, so that it can be killed. Its whole state is in the store: a new process
continues where the stored state ends. The reports on stdout are only for display.
"""

from __future__ import annotations

import json
import sys

import memoranda
from memoranda import KeyRef, Store, Transaction
from memoranda.model.clock import SystemClock

INVOICES = (
    ("Paper & Co", 120),
    ("Grid Power", 480),
    ("Paper & Co", 95),
    ("Tall Ships Ltd", 900),
    ("Grid Power", 455),
    ("Quick Couriers", 60),
    ("Tall Ships Ltd", 310),
    ("Paper & Co", 130),
)
STRICTER_FROM = 6
"""Before this invoice the clerk lowers its limit, because its spending is high."""


def main(path: str, agent_id: str, namespace: str, stop_at: str) -> None:
    """Settle the remaining invoices; wait to be killed when invoice `stop_at` is staged."""
    clock = SystemClock()
    with memoranda.open(path) as root:
        store = root.bind(agent_id=agent_id, namespace=namespace)
        if store.get_state(key="policy") is None:
            store.write(key="policy", value={"limit": 500})
        progress = store.get_state(key="progress")
        first = progress.value["settled"] + 1 if progress else 1
        report("begin", number=first)
        for number in range(first, len(INVOICES) + 1):
            clock.sleep(0.15)
            settle(store, number, hold=str(number) == stop_at, clock=clock)


def settle(store: Store, number: int, *, hold: bool, clock: SystemClock) -> None:
    """Decide one invoice; the decision, the ledger and the progress are one transaction."""
    if number == STRICTER_FROM:
        store.write(key="policy", value={"limit": 300}, because=[KeyRef("ledger")])
        report("policy", limit=300)
    with store.begin_transaction(txn_id=f"settle-{number}") as transaction:
        decision = decide(transaction, number)
        if hold:
            report("staged", number=number, **decision)
            clock.sleep(60)
    report("committed", number=number, commit_ts=transaction.commit_ts, **decision)


def decide(transaction: Transaction, number: int) -> dict[str, object]:
    """Stage the decision on an invoice, the ledger and the progress."""
    vendor, amount = INVOICES[number - 1]
    policy = transaction.get_state(key="policy")
    ledger = transaction.get_state(key="ledger")
    assert policy is not None, "the policy is written before the first invoice"
    verdict = "paid" if amount <= policy.value["limit"] else "held"
    total = (ledger.value["spent"] if ledger else 0) + (amount if verdict == "paid" else 0)
    decision = {"vendor": vendor, "amount": amount, "verdict": verdict}
    transaction.write(key=f"invoice/{number}", value=decision, because=[KeyRef("policy")])
    transaction.write(key="ledger", value={"spent": total})
    transaction.write(key="progress", value={"settled": number})
    return decision


def report(step: str, **details: object) -> None:
    """Print a step as JSON for the demo, which reads stdout."""
    sys.stdout.write(json.dumps({"what": step, **details}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
