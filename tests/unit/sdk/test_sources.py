"""Sources of facts: whatever is given for one, the log can be read again."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import InvalidInput, MemoryRef, TranscriptRef
from memoranda.testing import memory_store


@pytest.mark.parametrize(
    "ref",
    [
        lambda memory_id: MemoryRef(memory_id, 1.0),  # type: ignore[arg-type]
        lambda memory_id: MemoryRef(memory_id, True),
        lambda memory_id: MemoryRef(memory_id, "1"),  # type: ignore[arg-type]
        lambda memory_id: MemoryRef(memory_id, 2**70),
        lambda memory_id: MemoryRef([memory_id]),  # type: ignore[arg-type]
        lambda _: MemoryRef(None),  # type: ignore[arg-type]
        lambda _: TranscriptRef(5),  # type: ignore[arg-type]
    ],
)
def test_a_reference_that_the_log_could_not_give_back_is_refused(ref: Any) -> None:
    store = memory_store().bind(agent_id="a")
    memory = store.remember("Alice has moved to Rome.", title="a move")
    with pytest.raises(InvalidInput, match="source"):
        store.assert_fact(subject="a", relation="r", object="o", source=ref(memory.id))
    store.assert_fact(subject="a", relation="r", object="o", source=MemoryRef(memory.id, 1))
    assert store.rebuild().identical
