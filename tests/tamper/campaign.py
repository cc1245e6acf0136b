"""The campaign: one tampering after the other, each on a copy of the same store, none missed."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

import apsw

import memoranda
from memoranda import ChainBroken, Corruption, NotProven
from tests.tamper.attacks import ATTACKS, LOG, Attack, Deed
from tests.tamper.harmless import harmless
from tests.tamper.tables import Table, opened, tables_of

FOUND, HARMLESS = "found", "harmless"


class Missed(AssertionError):
    """Something was changed, and verification did not say so, or named the wrong commit."""


def campaign(folder: Path, pristine: Path, seed: str, count: int) -> Counter[str]:
    """Do so many tamperings by a seed, and return how many of each kind there were."""
    observations = Counter[str]()
    for number in range(count):
        random = Random(f"{seed}/{number}")
        deed = tamper(folder, pristine, random)
        observations[judge(folder / "copy.db", deed)] += 1
        observations[deed.attack] += 1
        observations[f"table {deed.table}"] += 1
    return observations


def tamper(folder: Path, pristine: Path, random: Random) -> Deed:
    """Do to a copy of the store whatever chance wants, until something has changed."""
    while True:
        with fresh_copy(folder, pristine) as database:
            tables = [table for table in tables_of(database) if not is_empty(database, table)]
            deed = attempt(random.choice(ATTACKS), database, random.choice(tables), random)
        if deed is not None:
            return deed


def attempt(attack: Attack, database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Do one thing, unless the tables' own rules refuse it."""
    try:
        return attack(database, table, random)
    except (apsw.ConstraintError, apsw.MismatchError):
        return None


def fresh_copy(folder: Path, pristine: Path) -> AbstractContextManager[apsw.Connection]:
    """Open a new copy of the store to be changed."""
    for path in folder.glob("copy.db*"):
        path.unlink()
    shutil.copyfile(pristine, folder / "copy.db")
    return opened(folder / "copy.db")


def is_empty(database: apsw.Connection, table: Table) -> bool:
    return not database.execute(f"SELECT EXISTS (SELECT 1 FROM {table.name})").get


def judge(path: Path, deed: Deed) -> str:
    """Return whether a deed was found or is harmless, or raise `Missed`."""
    reason = harmless(deed)
    error = look(path)
    if reason is not None:
        return HARMLESS
    if error is None:
        raise Missed(f"not found: {deed}")
    if deed.table in LOG:
        if not isinstance(error, ChainBroken):
            raise Missed(f"found as {error!r}, though the log was altered: {deed}")
        if deed.table != "erased" and error.commit_ts not in deed.commits() | {head_of(path) + 1}:
            raise Missed(f"commit {error.commit_ts} was named: {deed}: {error}")
    return FOUND


def look(path: Path) -> Corruption | NotProven | None:
    """Open and verify a store; whatever else is raised is a defect."""
    try:
        with memoranda.open(path, create=False, durability="relaxed") as store:
            store.verify()
            store.verify(deep=True)
    except (Corruption, NotProven) as error:
        return error
    return None


def head_of(path: Path) -> int:
    """Return the number up to which a log has no gap."""
    with opened(path) as database:
        numbers = {row[0] for row in database.execute("SELECT commit_ts FROM event")}
    return next(number for number in range(len(numbers) + 1) if number + 1 not in numbers)
