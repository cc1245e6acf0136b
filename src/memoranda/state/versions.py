"""Versions of keys that something rests on, many at a time, and what became of the keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from memoranda.log import horizons
from memoranda.log.parts import SplitEvents
from memoranda.model.refs import KeyRef
from memoranda.state.queries import Place, read_versions
from memoranda.state.records import StateVersion
from memoranda.storage.port import Reader


class KeyStanding(msgspec.Struct, frozen=True):
    """One version of a key, and the newest one there was at the moment asked about."""

    asked: KeyRef
    """The reference as it was given."""
    found: StateVersion
    newest: int
    live: bool
    """Whether the newest one has a value."""

    @property
    def ref(self) -> KeyRef:
        """The reference with its version."""
        asked = self.asked
        return KeyRef(asked.key, self.found.version, asked.agent_id, asked.namespace)


def find_versions(
    reader: Reader, refs: Sequence[KeyRef], at: int, events: SplitEvents
) -> Iterator[KeyStanding]:
    """Yield those of the versions that there were at a commit; none given: the newest then."""
    horizons.check(reader, (ref.namespace for ref in refs if ref.namespace is not None), at)
    listed = [(ref.agent_id, ref.namespace, ref.key, ref.version) for ref in refs]
    rows = reader.rows("state_places", wanted=msgspec.json.encode(listed).decode(), at=at)
    asked: dict[Place, list[tuple[KeyRef, int, bool]]] = {}
    for number, commit_ts, position, newest, live in rows:
        asked.setdefault((commit_ts, position), []).append((refs[number], newest, bool(live)))
    for place, found in read_versions(reader, asked, events):
        for ref, newest, live in asked[place]:
            yield KeyStanding(ref, found, newest, live)
