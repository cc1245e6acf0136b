"""The control store of a server: its tokens and its audit of denials, apart from every tenant."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from memoranda.audit import checkpointer
from memoranda.calls.defaults import Defaults
from memoranda.errors import MemorandaError
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.open import open_core
from memoranda.sdk.store.store import Store
from memoranda.server.denials import Denials
from memoranda.server.store_catalog import SUFFIX, check_file
from memoranda.server.tokens import TokenBook
from memoranda.storage.store_url import Url

POLL_SECONDS = 0.25
"""How often a server looks for changes that other processes made."""


def control_path(*, folder: Path | None = None, file: Path | None = None) -> Path:
    """Return where the control store is: in the folder of the stores, or beside the only one.

    Neither is the name of a store (`<name>.db`, without a leading `_`), so no token reaches it.
    Links are followed: a server and a command have the same control store, whatever they are given.
    """
    if folder is not None:
        return folder.resolve() / "_control.db"
    assert file is not None, "a server has a folder of stores, or one file"
    store = file.resolve()
    return store.with_name(f"{store.name}-control")


class ControlStore:
    """The open control store of a server, or of a command about tokens."""

    def __init__(
        self,
        location: Url,
        *,
        create: bool = True,
        clock: Clock | None = None,
        ids: IdSource | None = None,
    ) -> None:
        self.core = open_core(
            location,
            clock=clock,
            ids=ids,
            limits=None,
            durability="full",
            create=create,
            allow_network_file_system=False,
            signer=None,
            checkpoint_every=checkpointer.DEFAULT_COMMITS,
            checkpoint_seconds=checkpointer.DEFAULT_SECONDS,
            embedder=None,
            progress=None,
            read_only=False,
            memory_budget=None,
        )
        self.denials = Denials(self.core)
        self.tokens = TokenBook(self.core, self.denials)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def check_readable(self) -> None:
        """Raise if the tokens cannot be read."""
        if self.core.engine.path is not None:
            check_file("control store", self.core.engine.path)
        self.core.head()

    @property
    def name(self) -> str:
        """The name in the file names of its backups."""
        path = self.core.engine.path
        return "_control" if path is None else path.name.removesuffix(SUFFIX)

    @property
    def store(self) -> Store:
        """A handle of it, for data of the server itself."""
        return Store(LocalCalls(self.core), Defaults())

    def start(self) -> None:
        """Start a thread that reads changes of other processes and writes the audit."""
        assert self._thread is None, "it is started once"
        self._thread = threading.Thread(target=self._follow, name="memoranda-control", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            try:
                self.tokens.refresh()
            except MemorandaError:  # the next caller reads for itself, and gets the error
                continue
            self.denials.write()

    def close(self) -> None:
        """Stop following, write the rest of the audit, and close the store."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self.denials.write(counts=True)
        self.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
