"""The stores of a database by name: finding, adding, renaming and removing them."""

from __future__ import annotations

import msgspec

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.ids import SystemIds
from memoranda.model.limits import short_repr
from memoranda.storage.postgres.session import Session
from memoranda.storage.sqlite.schema import FORMAT


class StoreRow(msgspec.Struct, frozen=True):
    """A store of a database."""

    store_id: int
    name: str
    token: str
    """Names the files beside the database."""
    location: str | None = None
    """The URL of a store in another database; None: its rows are in this one."""


class StoreCatalog:
    """The stores of a database whose tables are there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str, *, create: bool = False) -> StoreRow:
        """Return a store, or raise `NotFound`; `create` adds it."""
        while (row := self._session.find("store_find", name)) is None:
            if not create:
                raise NotFound(f"there is no store {short_repr(name)} in the database")
            self._insert(name)
        return StoreRow(*row)

    def list(self) -> list[StoreRow]:
        """Return all stores, in the order of their names."""
        return [StoreRow(*row) for row in self._session.rows("store_list")]

    def create(self, field: str, name: str) -> None:
        """Add an empty store; raise `InvalidInput` if the name is taken."""
        if not self._insert(name):
            raise _taken(field, name)

    def _insert(self, name: str) -> bool:
        ids = SystemIds()
        store_id = int.from_bytes(ids.entropy(8)) >> 1
        with self._session.transaction():
            if self._session.find("store_add", store_id, name, ids.unique()) is None:
                return False
            self._session.find("head_add", store_id, FORMAT)
        return True

    def rename(self, store: StoreRow, new: str) -> None:
        """Give a store another name; programs that have it open go on."""
        with self._session.transaction():
            self._session.find("schema_lock")  # so that nobody takes the name meanwhile
            if self._session.find("store_find", new) is not None:
                raise _taken("new", new)
            self._session.find("store_rename", new, store_id=store.store_id)

    def remove(self, store: StoreRow) -> None:
        """Delete every row of a store; its id is not used again."""
        with self._session.transaction():
            self._session.find("store_lock", store_id=store.store_id)
            for (table,) in self._session.rows("store_tables"):
                self._session.find("table_rows_delete", table=table, store_id=store.store_id)


def _taken(field: str, name: str) -> InvalidInput:
    return InvalidInput(field, f"{short_repr(name)} already exists in the database: choose another")
