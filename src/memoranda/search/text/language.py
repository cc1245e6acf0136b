"""The languages of the index: the stemmers that its tokens were made with.

The language is a setting of the store, and of a namespace with those below it, where the nearest
one wins. It is stored beside the index. After a change the documents are restemmed one by one in
the background. Until that is done, a query is stemmed in the old languages as well, so no document
is missed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from memoranda.model.intervals import OPEN_END
from memoranda.search.index.tables import renew_stamp
from memoranda.search.text import tokenizer
from memoranda.search.text.stemmer import ENGLISH, PORTER, check_language, is_english
from memoranda.storage.port import Reader, Writer

_META_NAME = "index_language"
_VIEW_META_NAME = "view:search"
_PORTER_VIEW_VERSION = "2"
"""The version of the search view that used Porter's algorithm of 1980."""
_DocumentId = Annotated[int, msgspec.Meta(ge=0, le=OPEN_END)]


class IndexLanguage(msgspec.Struct, frozen=True, array_like=True):
    """The stemmers that an index was made with, and how far it is restemmed."""

    language: str = ENGLISH
    """The store's language: new documents are stemmed in it, unless their namespace has another."""
    previous: tuple[str, ...] = ()
    """The languages of documents that are not restemmed yet; empty if all are."""
    restemmed_through: _DocumentId = 0
    """Every document up to this id is restemmed."""
    last_old_document: _DocumentId = 0
    """The last document at the time of the change; documents after it are in the new language."""
    namespaces: dict[str, str] = {}
    """The languages of namespaces that have their own."""
    tokenizer_version: int = 1
    """The version of the tokenizer; rows without it are of the first."""

    def of(self, namespace: str) -> str:
        """Return the language of a namespace: its own, or of the nearest namespace above it."""
        path = namespace if self.namespaces else ""
        while path:
            language = self.namespaces.get(path)
            if language is not None:
                return language
            path = path.rpartition("/")[0]
        return self.language

    @property
    def is_restemming(self) -> bool:
        """Whether some documents may still have the tokens of another language."""
        return bool(self.previous)

    def is_restemmed(self, document_id: int) -> bool:
        """Say whether a document has the tokens of its namespace's language."""
        if not self.previous:
            return True
        return not self.restemmed_through < document_id <= self.last_old_document

    def query_terms(self, query: str, namespaces: Iterable[str]) -> list[str]:
        """Return the terms of a query in every language that these namespaces have tokens of."""
        own = map(self.of, sorted(namespaces)) if self.namespaces else (self.language,)
        languages = dict.fromkeys((*own, *self.previous))
        terms = (tokenizer.query_terms(query, language) for language in languages)
        return list(dict.fromkeys(term for language_terms in terms for term in language_terms))

    def term_prefix(self, term: str) -> str:
        """Return a string that every folded text with this term contains; it may be empty."""
        languages = {self.language, *self.namespaces.values(), *self.previous}
        other_languages = (language for language in languages if not is_english(language))
        return tokenizer.term_prefix(term, next(other_languages, ENGLISH))

    def restemmed(self) -> IndexLanguage:
        """Return the state after all documents were restemmed."""
        return IndexLanguage(
            self.language, namespaces=self.namespaces, tokenizer_version=self.tokenizer_version
        )


_CURRENT = IndexLanguage(tokenizer_version=tokenizer.VERSION)
"""The state of an index without a setting."""
_UNKNOWN = IndexLanguage(
    previous=(PORTER,), last_old_document=OPEN_END, tokenizer_version=tokenizer.VERSION
)
"""The state of an index without a readable setting: every document has to be restemmed."""


def read(reader: Reader) -> IndexLanguage:
    """Return the languages of the index.

    A read-only index of an older version is read as it is, and counts as not restemmed.
    """
    return reader.cached(_read)


def _read(reader: Reader) -> IndexLanguage:
    stored = _stored(reader)
    if stored is None:
        return _UNKNOWN if is_of_porter(reader) else _CURRENT
    return _as_current(stored) if stored.tokenizer_version < tokenizer.VERSION else stored


def _stored(reader: Reader) -> IndexLanguage | None:
    row = reader.row("meta_get", name=_META_NAME)
    if row is None:
        return None
    try:
        return msgspec.json.decode(row[0], type=IndexLanguage)
    except msgspec.DecodeError:  # the row is damaged: restem everything
        return _UNKNOWN


def _as_current(stored: IndexLanguage) -> IndexLanguage:
    """Return the state of an index of the first tokenizer, whose English tokens were the same.

    Its terms need no language of their own in a query: version 2 has them too.
    """
    if all(map(is_english, (stored.language, *stored.previous))):
        return msgspec.structs.replace(stored, tokenizer_version=tokenizer.VERSION)
    previous = tuple(dict.fromkeys((*stored.previous, stored.language)))
    return IndexLanguage(
        stored.language, previous, 0, OPEN_END, tokenizer_version=tokenizer.VERSION
    )


def write(writer: Writer, language: IndexLanguage) -> None:
    """Store the languages of the index, and how far it is restemmed."""
    writer.run("meta_set", name=_META_NAME, value=msgspec.json.encode(language).decode())


def change(writer: Writer, language: str, namespace: str | None = None) -> str | None:
    """Set the language of the index, or of a namespace and those below it.

    Return the old one, or None if it stays the same.
    """
    before = read(writer)
    check_language(language)
    old = before.language if namespace is None else before.of(namespace)
    if namespace is None:
        after = msgspec.structs.replace(before, language=language)
    else:
        after = msgspec.structs.replace(
            before, namespaces={**before.namespaces, namespace: language}
        )
    if old == language:
        write(writer, after)  # nothing is to be restemmed, or what is being restemmed already
        return None
    _begin(writer, after, (*before.previous, old))
    return old


def copy(writer: Writer, language: IndexLanguage) -> None:
    """Set the languages of a new index to those of another one."""
    before = read(writer)
    after = msgspec.structs.replace(
        before, language=language.language, namespaces=language.namespaces
    )
    if after != before:
        old_languages = (*before.previous, before.language, *before.namespaces.values())
        _begin(writer, after, old_languages)


def adopt(writer: Writer) -> None:
    """Begin to rewrite the index of an older version; its vectors stay."""
    if is_of_porter(writer):
        _begin(writer, _CURRENT, (PORTER,))
        writer.run("meta_set", name=_VIEW_META_NAME, value=str(int(_PORTER_VIEW_VERSION) + 1))
    elif is_of_older_tokenizer(writer):
        language = read(writer)
        _begin(writer, language, language.previous)


def is_of_porter(reader: Reader) -> bool:
    """Say whether an older version filled the index."""
    return reader.row("meta_get", name=_VIEW_META_NAME) == (_PORTER_VIEW_VERSION,)


def is_of_older_tokenizer(reader: Reader) -> bool:
    """Say whether an older tokenizer filled an index with a setting."""
    stored = _stored(reader)
    return stored is not None and stored.tokenizer_version < tokenizer.VERSION


def _begin(writer: Writer, language: IndexLanguage, previous: Iterable[str]) -> None:
    """Begin to restem the index from its first document; plans made before become stale."""
    (last,) = writer.row("document_last") or (None,)
    changed = msgspec.structs.replace(
        language,
        previous=tuple(dict.fromkeys(previous)) if last else (),
        restemmed_through=0,
        last_old_document=last or 0,
        tokenizer_version=tokenizer.VERSION,
    )
    write(writer, changed)
    renew_stamp(writer)


def backlog(reader: Reader) -> int:
    """Return how many documents are not restemmed yet."""
    language = read(reader)
    if not language.previous:
        return 0
    row = reader.row(
        "documents_between_count", after=language.restemmed_through, end=language.last_old_document
    )
    return row[0] if row else 0


REMEDY = "a search finds them nevertheless; `memoranda reindex` or store.reindex() restems them"


def describe_mixture(reader: Reader) -> str | None:
    """Describe how much of the index is in another language; None: nothing is."""
    language, count = read(reader), backlog(reader)
    if not count:
        return None
    previous = " and ".join(language.previous)
    documents = "1 document is" if count == 1 else f"{count:,} documents are"
    return f"{documents} indexed in {previous} and not yet in {names(language)}"


def names(language: IndexLanguage) -> str:
    """Return the names of all languages of an index."""
    return " and ".join(dict.fromkeys((language.language, *language.namespaces.values())))
