"""References as people type and read them: a key, a memory or a fact.

`KEY[@VERSION]`, `memory:ID[@VERSION]` and `fact:ID`. A key that begins like one of the others is
spelled with `key:` before it, and so is one that begins with `key:` itself.
"""

from __future__ import annotations

import re

from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref

_KEY, _MEMORY, _FACT = "key:", "memory:", "fact:"
_VERSIONED = re.compile(r"(?P<name>.*)@(?P<version>[0-9]{1,1000})", re.DOTALL)


def parse(text: str) -> Ref:
    """Return what a text names, at the version behind its last `@` if there is one."""
    if text.startswith(_FACT):
        return FactRef(text.removeprefix(_FACT))
    found = _VERSIONED.fullmatch(text)
    name, version = (found["name"], int(found["version"])) if found else (text, None)
    if name.startswith(_MEMORY):
        return MemoryRef(name.removeprefix(_MEMORY), version)
    return KeyRef(name.removeprefix(_KEY), version)


def spelled(ref: Ref) -> str:
    """Return the text that names the same again."""
    if isinstance(ref, FactRef):
        return f"{_FACT}{ref.assertion_id}"
    version = "" if ref.version is None else f"@{ref.version}"
    if isinstance(ref, MemoryRef):
        return f"{_MEMORY}{ref.memory_id}{version}"
    taken = ref.key.startswith((_KEY, _MEMORY, _FACT))
    return f"{_KEY if taken else ''}{ref.key}{version}"
