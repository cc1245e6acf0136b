"""Conversion of a caller's arguments to the plain data of a call.

A record stands for its reference, a generator for its items, a length of time for its seconds. Any
other value stays as it is, and the handler refuses it by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from memoranda.calls.arguments import plain_items
from memoranda.calls.call import WriteCall
from memoranda.calls.requests import check_transcript_ref
from memoranda.graph.edge_resolver import RelationCardinality
from memoranda.memory.requests import MemoryFields
from memoranda.model.clock import plain_duration, plain_instant
from memoranda.model.limits import Limits
from memoranda.model.refs import ref_of

AnyWrite = TypeVar("AnyWrite", bound=WriteCall[Any])


def plain_refs(refs: Any) -> Any:
    """Return references from a list of records or references, or from a single one."""
    if type(refs) is tuple and not refs:
        return refs
    if not isinstance(refs, (list, tuple)):
        ref = ref_of(refs)
        if ref is not None:
            return ref
        if isinstance(refs, (str, bytes)) or not isinstance(refs, Iterable):
            return refs
    return tuple(ref_of(item) or item for item in refs)


def plain_spans(spans: Any) -> Any:
    """Return byte ranges as a tuple."""
    return tuple(spans) if isinstance(spans, list) else spans


def plain_cardinality(cardinality: Any) -> Any:
    """Return a cardinality as text."""
    is_member = isinstance(cardinality, RelationCardinality)
    return cardinality.value if is_member else cardinality


def plain_parameters(parameters: Any) -> Any:
    """Return the values of a query's placeholders, by position or by name."""
    return tuple(parameters) if isinstance(parameters, list) else parameters


def plain_messages(text: Any) -> Any:
    """Return a text as it is, and messages as a tuple."""
    if isinstance(text, (str, bytes, bytearray, Mapping)) or not isinstance(text, Iterable):
        return text
    return tuple(text)


def plain_memory_fields(
    declared: type[MemoryFields], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a memory that a caller gave, of those that the type declares."""
    fields = {}
    for name in declared.__annotations__:
        value = arguments[name]
        if value is not UNSET:
            convert = _MEMORY_FIELDS.get(name)
            fields[name] = value if convert is None else convert(value)
    return fields


def with_own_data(call: AnyWrite, limits: Limits) -> AnyWrite:
    """Return a call that stays as it is when its caller changes a list or a document in it.

    A part that is nested too deeply is not copied; the handler refuses it.
    """
    changes: dict[str, Any] = {}
    for name in call.__struct_fields__:
        value = getattr(call, name)
        if isinstance(value, (dict, list)):
            changes[name] = _copied(value, limits.value_depth)
        elif type(value) is tuple:
            changes[name] = tuple(_copied(item, limits.value_depth) for item in value)
    return replace(call, **changes)


def _copied(value: Any, levels: int) -> Any:
    if not levels:
        return value
    if isinstance(value, dict):
        return {name: _copied(item, levels - 1) for name, item in value.items()}
    return [_copied(item, levels - 1) for item in value] if isinstance(value, list) else value


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a namespace that a caller gave."""
    plain = dict(settings)
    for name in ("transcript_retention", "log_retention"):
        if name in plain:
            plain[name] = plain_duration(name, plain[name])
    tiers = plain.get("tiers")
    if isinstance(tiers, Mapping):
        plain["tiers"] = {
            tier: plain_duration(f"tiers.{tier}", lifetime) for tier, lifetime in tiers.items()
        }
    return plain


_MEMORY_FIELDS: Mapping[str, Any] = {
    "tags": plain_items,
    "citations": plain_items,
    "ttl": lambda value: plain_duration("ttl", value),
    "event_time": lambda value: plain_instant("event_time", value),
    "transcript": lambda value: (
        None if value is None else check_transcript_ref("transcript", value)
    ),
    "spans": plain_spans,
}
"""Field of a memory -> how it becomes plain data, if it is not."""
