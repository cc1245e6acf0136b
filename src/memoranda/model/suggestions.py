"""Suggestions: which names a caller may have meant.

Callers pass only names that the viewer may see: a suggestion reveals that a name exists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import ParamSpec, TypeVar, cast

from memoranda.model.limits import short_repr

MAX_SUGGESTIONS = 3
"""Names that an error suggests."""
MAX_CANDIDATES = 2000
"""Names that are compared at most. An error must not cost much more than the call it refuses."""
_MIN_SIMILARITY = 0.6
"""The ratio of `difflib` from which on a name is suggested; 1 is equal."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the end of an error message that suggests similar names; empty if none is similar."""
    from difflib import get_close_matches  # only errors need it
    from itertools import islice

    spelled = {text.casefold(): text for text in islice(candidates, MAX_CANDIDATES)}
    close = get_close_matches(name.casefold(), spelled, n=MAX_SUGGESTIONS, cutoff=_MIN_SIMILARITY)
    if not close:
        return ""
    *first, last = (short_repr(spelled[key]) for key in close)
    return f": did you mean {', '.join(first)}{' or ' if first else ''}{last}?"


def suggests_arguments(call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let the `TypeError` for an unknown keyword argument suggest the ones there are."""
    names = [*signature(call).parameters]

    def check(arguments: Iterable[str]) -> None:
        for name in arguments:
            if name not in names:
                problem = f"{call.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(problem + did_you_mean(name, names))

    @wraps(call)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        check(kwargs)
        return call(*args, **kwargs)

    @wraps(call)
    async def checked_async(*args: Arguments.args, **kwargs: Arguments.kwargs) -> object:
        check(kwargs)
        return await cast("Awaitable[object]", call(*args, **kwargs))

    return (
        cast("Callable[Arguments, Result]", checked_async) if iscoroutinefunction(call) else checked
    )
