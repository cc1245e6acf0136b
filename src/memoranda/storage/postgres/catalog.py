"""The stores of a database by name: finding, adding, renaming and removing them."""

from __future__ import annotations

import msgspec

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.ids import SystemIds
from memoranda.model.limits import short_repr
from memoranda.storage.postgres.head import draw_number
from memoranda.storage.postgres.schema import Schema
from memoranda.storage.postgres.session import Session
from memoranda.storage.sqlite.schema import FORMAT


class StoreRow(msgspec.Struct, frozen=True):
    """A store of a database."""

    store_id: int
    name: str
    token: str
    """Names the files beside the database."""
    location: str | None = None
    """The server whose database has its rows (`directory.py`); None: they are in this one."""


class StoreCatalog:
    """The stores of a database whose tables are there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str, *, create: bool = False) -> StoreRow:
        """Return a store, or raise `NotFound`; `create` adds it."""
        while (row := self._session.find("store_find", name)) is None:
            if not create:
                raise NotFound(f"there is no store {short_repr(name)} in the database")
            self._insert(draw_number(), name)
        return StoreRow(*row)

    def find_id(self, store_id: int) -> StoreRow | None:
        """Return the store with an id, if it is there."""
        row = self._session.find("store_of_id", store_id=store_id)
        return None if row is None else StoreRow(*row)

    def has_rows(self, store_id: int) -> bool:
        """Say whether the rows of a store are here, and not only its name."""
        return self._session.find("store_stamp", store_id=store_id) is not None

    def list(self) -> list[StoreRow]:
        """Return all stores, in the order of their names."""
        return [StoreRow(*row) for row in self._session.rows("store_list")]

    def create(self, field: str, name: str, location: str | None = None) -> StoreRow:
        """Add an empty store; raise `InvalidInput` if the name is taken.

        If it is on a server, only its name is added here.
        """
        if not self._insert(draw_number(), name, location):
            raise _taken(field, name)
        return self.find(name)

    def adopt(self, store: StoreRow, move: str | None = None) -> None:
        """Make place for the rows of a store that another database has, under the same id.

        Only the copier of a move writes there until it is thawed.
        """
        with self._session.transaction():
            if not self._insert(store.store_id, store.name):
                row = self.find_id(store.store_id)
                if row is None:
                    raise _taken("name", store.name)
                if row.name != store.name:  # it was here before, and was renamed elsewhere
                    self.rename(row, store.name)
            self.make_place(store, move)

    def make_place(self, store: StoreRow, move: str | None) -> None:
        """Make place for the rows of a store that has a name here, as `adopt` does.

        Programs that had it open when it was here before find another token, and write nothing.
        """
        with self._session.transaction():
            Schema(self._session).hold()
            self._session.find("store_token_renew", SystemIds().unique(), store_id=store.store_id)
            self._session.find("head_add", store.store_id, FORMAT)
            self.freeze(store.store_id, move)

    def _insert(self, store_id: int, name: str, location: str | None = None) -> bool:
        token = SystemIds().unique()
        with self._session.transaction():
            Schema(self._session).hold()  # else a migration misses its row, which has this format
            if self._session.find("store_add", store_id, name, token, location) is None:
                return False
            if location is None:
                self._session.find("head_add", store_id, FORMAT)
        return True

    def freeze(self, store_id: int, reason: str | None) -> None:
        """Let a store take no more writes, or again with None."""
        self._session.find("head_freeze", reason, draw_number(), store_id=store_id)

    def thaw(self, store_id: int, reason: str) -> None:
        """Let a store take writes again, unless another process has frozen it since."""
        self._session.find("head_thaw", draw_number(), reason, store_id=store_id)

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
            self._delete_rows(store)

    def _delete_rows(self, store: StoreRow, *, but: str = "") -> None:
        self._session.find("store_lock", store_id=store.store_id)
        for (table,) in self._session.rows("store_tables"):
            if table != but:
                self._session.find("table_rows_delete", table=table, store_id=store.store_id)

    def remove_moved(self, store: StoreRow, *, keep_name: bool) -> bool:
        """Delete the rows of a store that is elsewhere by now, unless a server has it open here.

        With `keep_name` the store is still known here. Its index on disk belongs to nobody then.
        """
        with self._session.transaction():
            self._session.find("store_lock", store_id=store.store_id)
            now = self._session.server_time()
            if self._session.find("owner_read", now, store_id=store.store_id) is not None:
                return False
            self._delete_rows(store, but="store" if keep_name else "")
            self._session.find("store_token_renew", SystemIds().unique(), store_id=store.store_id)
            return True


def _taken(field: str, name: str) -> InvalidInput:
    return InvalidInput(field, f"{short_repr(name)} already exists in the database: choose another")
