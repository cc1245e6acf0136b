"""Names of speakers, given by the caller for roles such as `user`.

A name is stored as the `name` of each message. So the rendering stays a pure function of the stored
messages, and a name is erased with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memoranda.errors import InvalidInput
from memoranda.memory.messages import is_item, role_of, unwrapped
from memoranda.model.document import Document
from memoranda.model.limits import Limits, check_text, plain_text, short_repr
from memoranda.model.memory import one_line
from memoranda.model.suggestions import did_you_mean


def check_names(names: object, limits: Limits) -> dict[str, str]:
    """Return the names of speakers by role, with roles in lower case."""
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise InvalidInput("names", f"{short_repr(names)} is not a mapping of roles to names")
    checked: dict[str, str] = {}
    for role, name in names.items():
        key, field = plain_text("names", role).casefold(), f"names.{role}"
        label = one_line(plain_text(field, name))
        checked[key] = check_text(field, label, max_bytes=limits.name_bytes)
    return checked


def names_of_a_text() -> InvalidInput:
    """Return the error for names with a transcript that is a text."""
    return InvalidInput("names", "go with messages: write the names into the text instead")


def name_speakers(messages: Iterable[Document], names: Mapping[str, str]) -> list[Document]:
    """Return messages with a `name` where they have a role only, and the role has one.

    Refuses a role that no such message has.
    """
    used: set[str] = set()
    named = [_with_name(message, names, used) for message in messages]
    for role in names.keys() - used:
        roles = {role_of(unwrapped(message)) for message in named} - {""}
        raise InvalidInput(
            "names",
            f"no message without a name has the role {short_repr(role)}"
            + (did_you_mean(role, sorted(roles)) or ": leave it out"),
        )
    return named


def _with_name(message: Document, names: Mapping[str, str], used: set[str]) -> Document:
    inner = unwrapped(message)
    role = role_of(inner).casefold()
    is_named = inner.get("speaker") is not None or inner.get("name") is not None
    if is_named or role not in names or is_item(inner.get("type")):
        return message
    used.add(role)
    name = {"name": names[role]}
    for wrapper in ("data", "kwargs"):
        if inner is not message and isinstance(message.get(wrapper), Mapping):
            return {**message, wrapper: {**message[wrapper], **name}}
    return {**message, **name}
