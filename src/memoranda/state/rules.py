"""The rules of state: which version a write takes, and whether it may."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.errors import NotFound, VersionMismatch
from memoranda.log.views import LookUp
from memoranda.model.operations import AnyOperation, Delete, Write
from memoranda.model.refs import KeyRef, Ref, Referent, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.state.heads import KeyHead, KeyHeads, Place
from memoranda.state.queries import check_known
from memoranda.state.requests import DeleteKey, KeyRequest, WriteKey
from memoranda.storage.port import Reader


class StateRules:
    """Decides one transaction's writes and deletes, in order, each seeing those before it."""

    __slots__ = ("_decided", "_heads", "_look_up", "_reader")

    def __init__(self, reader: Reader, heads: KeyHeads, look_up: LookUp) -> None:
        self._reader = reader
        self._look_up = look_up
        self._heads = heads
        self._decided: dict[Place, KeyHead] = {}

    def decide(self, staged: KeyRequest, /) -> tuple[AnyOperation]:
        """Give the key its next version: never one it had, whether it has a value or not."""
        scope, expected = staged.scope, staged.expect_version
        place = (scope.namespace, scope.agent_id, staged.key)
        current = self._current(place)
        live_version = current.version if current.live else 0
        if expected is not None and expected != live_version:
            raise VersionMismatch(key=staged.key, expected=expected, actual=live_version)
        version = current.version + 1
        if isinstance(staged, DeleteKey):
            self._decided[place] = KeyHead(None, version, live=False)
            return (Delete(*place, version),)
        because = staged.because and tuple(self._resting_on(staged, scope))
        self._decided[place] = KeyHead(None, version, live=True)
        return (Write(*place, version, staged.encoded, because),)

    def _resting_on(self, staged: WriteKey, writer: Scope) -> Iterator[Ref]:
        """Yield what a value rests on, with everything said that the caller left out."""
        for ref in staged.because:
            found = self._look_up(ref, writer).ref
            assert not isinstance(found, TranscriptRef), "no value rests on bare words"
            yield found

    def look_up(self, ref: KeyRef, asker: Scope, /) -> Referent:
        """Return the key at a version it has or had; none given: at the one it has."""
        scope = Scope(ref.namespace or asker.namespace, ref.agent_id or asker.agent_id)
        current = self._current((scope.namespace, scope.agent_id, ref.key))
        version = ref.version or (current.version if current.live else 0)
        if not 0 < version <= current.version:
            raise NotFound(
                f"because: key {ref.key!r} of {scope.agent_id!r} in {scope.namespace!r} has "
                + (f"no version {ref.version}" if ref.version else "no value to rest on")
            )
        if version < current.version:
            check_known(self._reader, scope, ref.key, version)
        return Referent(KeyRef(ref.key, version, scope.agent_id, scope.namespace))

    def _current(self, place: Place) -> KeyHead:
        """Return the key as the transaction would leave it so far."""
        return self._decided.get(place) or self._heads.get(self._reader, place)
