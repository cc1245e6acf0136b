"""The stores of a database by name: finding and adding them."""

from __future__ import annotations

from memoranda.errors import NotFound
from memoranda.model.ids import SystemIds
from memoranda.storage.postgres.session import Session
from memoranda.storage.sqlite.schema import FORMAT


class StoreCatalog:
    """The stores of a database whose tables are there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str, *, create: bool) -> tuple[int, str]:
        """Return the id and the token of a store, or raise `NotFound`; `create` adds it."""
        while (row := self._session.find("store_find", name)) is None:
            if not create:
                raise NotFound(f"there is no store {name!r} in the database")
            self.add(name)
        return int(row[0]), str(row[1])

    def add(self, name: str) -> bool:
        """Add a store, unless there is one of this name; say whether it was added."""
        ids = SystemIds()
        store_id = int.from_bytes(ids.entropy(8)) >> 1
        with self._session.transaction():
            if self._session.find("store_add", store_id, name, ids.unique()) is None:
                return False
            self._session.find("head_add", store_id, FORMAT)
        return True
