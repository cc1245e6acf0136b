"""The rules of state: the next version of a key, and compare-and-set."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.errors import NotFound, VersionMismatch
from memoranda.log.views import LookUp
from memoranda.model.limits import argument
from memoranda.model.operations import AnyOperation, Delete, Write
from memoranda.model.refs import KeyRef, Ref, Referent
from memoranda.model.scope import Scope
from memoranda.state.key_cache import KeyAddress, KeyHead, KeyHeadCache
from memoranda.state.reads import check_not_compacted
from memoranda.state.requests import DeleteKey, KeyRequest, WriteKey
from memoranda.storage.port import Reader


class StateRules:
    """Decides a transaction's writes and deletes in order; each sees those before it."""

    __slots__ = ("_decided", "_heads", "_look_up", "_reader")

    def __init__(self, reader: Reader, heads: KeyHeadCache, look_up: LookUp) -> None:
        self._reader = reader
        self._look_up = look_up
        self._heads = heads
        self._decided: dict[KeyAddress, KeyHead] = {}

    def decide(self, staged: KeyRequest, /) -> tuple[AnyOperation]:
        """Return the operation with the key's next version, which a deleted key counts on, too."""
        scope, expected_version = staged.scope, staged.expect_version
        place = (scope.namespace, scope.agent_id, staged.key)
        current = self._current(place)
        live_version = current.version if current.live else 0
        if expected_version is not None and expected_version != live_version:
            raise VersionMismatch(key=staged.key, expected=expected_version, actual=live_version)
        version = current.version + 1
        if isinstance(staged, DeleteKey):
            self._decided[place] = KeyHead(None, version, live=False)
            return (Delete(*place, version),)
        because = staged.because and tuple(self._resolve_refs(staged, scope))
        self._decided[place] = KeyHead(None, version, live=True)
        return (Write(*place, version, staged.encoded, because),)

    def _resolve_refs(self, staged: WriteKey, writer: Scope) -> Iterator[Ref]:
        """Yield the references of a value with all fields filled in."""
        for index, ref in enumerate(staged.because):
            with argument(f"because[{index}]"):
                resolved = self._look_up(ref, writer).ref
            yield resolved

    def look_up(self, ref: KeyRef, asker: Scope, /) -> Referent:
        """Resolve a reference to a key; without a version, it is the current one."""
        scope = Scope(ref.namespace or asker.namespace, ref.agent_id or asker.agent_id)
        current = self._current((scope.namespace, scope.agent_id, ref.key))
        version = ref.version or (current.version if current.live else 0)
        if not 0 < version <= current.version:
            raise NotFound(
                f"key {ref.key!r} of {scope.agent_id!r} in {scope.namespace!r} has "
                + (f"no version {ref.version}" if ref.version else "no value to cite")
            )
        if version < current.version:
            check_not_compacted(self._reader, scope, ref.key, version)
        return Referent(KeyRef(ref.key, version, scope.agent_id, scope.namespace))

    def rests_on_facts(self) -> bool:
        """Say whether the current value of any key may rest on a fact."""
        return self._heads.rests_on_facts(self._reader)

    def stored_head(self, address: KeyAddress) -> KeyHead:
        """Return a key's head before this transaction."""
        return self._heads.get(self._reader, address)

    def head(self, address: KeyAddress) -> KeyHead:
        """Return a key's head as this transaction leaves it; its row id is the stored one."""
        decided = self._decided.get(address)
        stored = self._heads.get(self._reader, address)
        if decided is None:
            return stored
        return KeyHead(stored.key_id, decided.version, decided.live)

    def _current(self, place: KeyAddress) -> KeyHead:
        """Return a key's head with the decisions of this transaction so far."""
        return self._decided.get(place) or self._heads.get(self._reader, place)
