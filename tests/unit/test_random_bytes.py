"""Random bytes of the operating system: none is given twice, not even to a forked process."""

from __future__ import annotations

import os

import pytest

from memoranda.model.ids import SystemIds

SIZES = (8, 16, 40, 128, 129, 2_000)


@pytest.mark.parametrize("size", SIZES)
def test_as_many_as_asked_for_and_never_the_same(size: int) -> None:
    ids = SystemIds()
    drawn = [ids.entropy(size) for _ in range(200)]
    assert {len(content) for content in drawn} == {size}
    assert len({content[:8] for content in drawn}) == 200


def test_a_forked_process_draws_others() -> None:
    ids = SystemIds()
    ids.entropy(16)  # there is a reserve
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"".join(ids.entropy(16) for _ in range(20)))
        os._exit(0)
    os.waitpid(child, 0)
    content = os.read(reader, 320)
    os.close(reader)
    os.close(writer)
    of_child = {content[first : first + 16] for first in range(0, 320, 16)}
    assert len(of_child) == 20
    assert of_child.isdisjoint(ids.entropy(16) for _ in range(200))
