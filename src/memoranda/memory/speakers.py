"""Names of speakers, given by the caller for roles such as `user`.

A name is stored as the `name` of each message. So the rendering stays a pure function of the stored
messages, and a name is erased with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memoranda.errors import InvalidInput
from memoranda.memory.messages import RawMessage, is_item, role_of, unwrapped
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
    unnamed = list(messages)
    check_roles(unnamed, names)
    return [_with_name(message, names) for message in unnamed]


def check_roles(messages: Sequence[Document], names: Mapping[str, str]) -> None:
    """Refuse names of a role that no message without a name has."""
    for role in names.keys() - names_of_roles(messages, names).keys():
        roles = {role_of(unwrapped(message)) for message in messages} - {""}
        raise InvalidInput(
            "names",
            f"no message without a name has the role {short_repr(role)}"
            + (did_you_mean(role, sorted(roles)) or ": leave it out"),
        )


def names_of_roles(messages: Iterable[Document], names: Mapping[str, str]) -> dict[str, str]:
    """Return those of the names whose role a message without a name has."""
    if not names:
        return {}
    roles = {_unnamed_role(unwrapped(message)) for message in messages}
    return {role: name for role, name in names.items() if role in roles}


def _unnamed_role(message: RawMessage) -> str | None:
    """Return the role of an unwrapped message, in lower case; None if it takes no name."""
    is_named = message.get("speaker") is not None or message.get("name") is not None
    return None if is_named or is_item(message.get("type")) else role_of(message).casefold()


def _with_name(message: Document, names: Mapping[str, str]) -> Document:
    inner = unwrapped(message)
    role = _unnamed_role(inner)
    if role is None or role not in names:
        return message
    name = {"name": names[role]}
    for wrapper in ("data", "kwargs"):
        if inner is not message and isinstance(message.get(wrapper), Mapping):
            return {**message, wrapper: {**message[wrapper], **name}}
    return {**message, **name}
