"""Request tags are unique: a request hash and a fingerprint cover the tag, not the class name."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterator

import msgspec

import memoranda
from memoranda.calls.core import all_views
from memoranda.model.erasure import Forget
from memoranda.model.operations import Operation

_NOT_REQUESTS = ("memoranda.model.operations", "memoranda.model.refs", "memoranda.model.event")
"""Tagged structs that are stored in operations and envelopes: they have other tag spaces."""


def staged_types() -> set[type]:
    """Return every type that a transaction can stage: what the views decide, and erasures."""
    return {kind for view in all_views().all for kind in view.request_types} | {Forget}


def tagged_structs() -> Iterator[type]:
    """Yield every struct of the package that has a number as its tag."""
    for module in pkgutil.walk_packages(memoranda.__path__, "memoranda."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if (
                isinstance(value, type)
                and issubclass(value, msgspec.Struct)
                and value.__module__ == module.name
                and isinstance(value.__struct_config__.tag, int)
            ):
                yield value


def test_no_two_requests_have_the_same_tag() -> None:
    names: dict[object, set[str]] = defaultdict(set)
    for kind in staged_types():
        assert issubclass(kind, msgspec.Struct)
        names[kind.__struct_config__.tag].add(kind.__qualname__)
    assert {tag: kinds for tag, kinds in names.items() if len(kinds) > 1} == {}
    assert None not in names, "a request without a tag"


def test_every_tagged_request_is_decided_by_a_view() -> None:
    requests = {kind for kind in tagged_structs() if not kind.__module__.startswith(_NOT_REQUESTS)}
    assert requests, "no tagged request was found"
    assert requests <= staged_types()
    own = {kind for kind in staged_types() if not issubclass(kind, Operation)}
    assert own == requests, "a request is defined where it is not looked for"
