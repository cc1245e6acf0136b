"""The schema of the wire: every message and every method, derived from the registry of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memoranda.wire.batches import BATCH_FORMS
from memoranda.wire.errors import ERROR
from memoranda.wire.forms import Form, MessageSpec
from memoranda.wire.requests import REMOTE_CALLS, request
from memoranda.wire.responses import ResponseForm, response


class MethodSpec(NamedTuple):
    """A method of the service."""

    name: str
    about: str
    request: str
    response: str
    takes_stream: bool
    gives_stream: bool


def methods() -> list[MethodSpec]:
    """Return the methods, in the order of the registry."""
    specs = []
    for kind in REMOTE_CALLS.values():
        form, answer = request(kind), response(kind)
        is_stream = kind.shape != "value" or kind.lane == "long"
        about = form.message().about
        specs.append(MethodSpec(kind.__name__, about, form.proto, answer.proto, False, is_stream))
    about = "Send many writes in few messages, and get their outcomes in any order."
    return [*specs, MethodSpec("WriteStream", about, "WriteBatch", "WriteOutcomes", True, True)]


def messages() -> Mapping[str, MessageSpec]:
    """Return every message by name: those of calls, then those that are part of others."""
    roots: list[Form[Any]] = []
    for kind in REMOTE_CALLS.values():
        roots += [request(kind), ResponseForm(response(kind))]
    specs: dict[str, MessageSpec] = {}
    pending: list[Form[Any]] = [*roots, *BATCH_FORMS, ERROR]
    for form in pending:  # grows on the way
        spec = form.message()
        if spec is None:
            continue
        existing = specs.setdefault(spec.name, spec)
        if existing is spec:
            pending.extend(_parts(spec))
        elif _shape(existing) != _shape(spec):
            raise TypeError(f"two messages have the name {spec.name}")
    return specs


def _parts(spec: MessageSpec) -> Iterator[Form[Any]]:
    for field in spec.fields:
        yield getattr(field.form, "item", field.form)


def _shape(spec: MessageSpec) -> Sequence[tuple[str, str, str]]:
    return [(field.name, field.form.proto, field.label) for field in spec.fields]
