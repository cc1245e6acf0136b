"""Tokenize text: fold Unicode, split words, stem them.

Folding makes texts comparable (Unicode NFKC, case folding, no accents). Words are stemmed in one
language, and its stop words are dropped. Scripts without spaces are tokenized into pairs of
neighbouring characters, and in the index also into single characters, whatever the language.
Emoji are tokens.

Stemmers of other languages than English go by accents, and writers leave accents out. So a word
with accents has two tokens if they differ: its stem without accents, and the stem of the word
without accents: `corr` and `corri` of `corrió`, which `corriendo` and `corrio` have too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import add

from memoranda.model.bounded_cache import BoundedCache
from memoranda.search.text.stemmer import ENGLISH, is_english, stem
from memoranda.search.text.stop_words import STOP_WORDS

VERSION = 2
"""Incremented when texts get other tokens; an index of an older version is rewritten. Every token
of a word by version 1 is one by version 2 too, unless the word is a stop word."""

# Folding.
#
# A text is folded piece by piece, for two reasons: `yield_cpu` is called in between, and a text
# that grows by normalisation (one Arabic ligature becomes eighteen characters) is cut when the
# result is long enough.

MAX_INDEXED_CHARACTERS = 65_536
"""Characters of a text that are indexed, both before and after folding."""
YieldCpu = Callable[[], None]
"""Called now and then in long work, to let other threads run."""
_PIECE_CHARACTERS = 1_024
"""Characters that are normalised at once: about a tenth of a millisecond of work."""
_SPACE = re.compile(r"[ \n\t]")
_MAX_MARKS = 30
"""Combining marks of one letter that count. More are no writing, and sorting them is slow."""
_VARIATION_SELECTORS = ((0x034F, 0x034F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
"""Code points that only choose the look of the character before them, or join it."""
_JAMO = (0x1160, 0x11FF)
"""Parts of Korean syllables that combine with the character before them."""


def keep_cpu() -> None:
    """Do nothing: the default for `yield_cpu` where the work is short."""


def fold(text: str, yield_cpu: YieldCpu = keep_cpu, *, accents: bool = False) -> str:
    """Return a text in its comparable form (NFKC, case folded, no accents), cut to the limit.

    Entity names are compared in the same form, except for accents, so a query finds a name however
    it is written. With `accents` these stay, and only what is invisible is dropped.
    """
    if text.isascii():  # equal to the slow path, which lowers ASCII pieces and never grows them
        yield_cpu()
        return text[:MAX_INDEXED_CHARACTERS].lower()
    pieces: list[str] = []
    size = 0
    for piece in _pieces(text[:MAX_INDEXED_CHARACTERS]):
        folded = _fold_piece(piece, _VISIBLE if accents else _WITHOUT_MARKS)
        pieces.append(folded)
        size += len(folded)
        yield_cpu()
        if size >= MAX_INDEXED_CHARACTERS:
            break
    return "".join(pieces)[:MAX_INDEXED_CHARACTERS]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces, split where no character combines with the one before it."""
    start = 0
    while start < len(text):
        end = _split_position(text, start + _PIECE_CHARACTERS)
        yield text[start:end]
        start = end


def _split_position(text: str, start: int) -> int:
    """Return the next position after a space, else before a character that does not combine."""
    space = _SPACE.search(text, start, start + _PIECE_CHARACTERS)
    if space is not None:
        return space.end()
    for position in range(start, min(start + _PIECE_CHARACTERS, len(text))):
        if not _combines(text[position]):
            return position
    return start + _PIECE_CHARACTERS


def _combines(character: str) -> bool:
    """Say whether normalisation may merge a character with the one before it."""
    code = ord(character)
    return unicodedata.category(character)[0] == "M" or _JAMO[0] <= code <= _JAMO[1]


def _fold_piece(piece: str, table: _FoldTable) -> str:
    if piece.isascii():
        return piece.lower()
    piece = _limit_marks(piece)
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", piece).casefold())
    return _translate(plain, table)


def _translate(text: str, table: _FoldTable) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).translate(table))


def _limit_marks(text: str) -> str:
    """Drop the marks of a letter beyond the first thirty."""
    if not any(map(_is_sorted_mark, text[::_MAX_MARKS])):  # a longer run would be sampled
        return text
    characters: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if _is_sorted_mark(character) else 0
        if marks <= _MAX_MARKS:
            characters.append(character)
    return "".join(characters)


@lru_cache(maxsize=4_096)
def _is_sorted_mark(character: str) -> bool:
    """Say whether normalisation sorts it among the other marks of its letter."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0


def _is_dropped(character: str) -> bool:
    """Say whether it only marks a letter, or is invisible.

    Accents and the vowels of Hebrew and Arabic mark a letter. Marks that distinguish letters of
    other scripts stay, such as those of kana.
    """
    combining_class = unicodedata.combining(character)
    if combining_class >= 200 or 10 <= combining_class <= 35:
        return True
    return _is_invisible(character)


def _is_invisible(character: str) -> bool:
    """Say whether nothing is seen of it alone, as of a soft hyphen or a joiner."""
    return unicodedata.category(character) == "Cf" or in_ranges(
        ord(character), _VARIATION_SELECTORS
    )


class _FoldTable(dict[int, int | None]):
    """A translation table that is filled as characters occur; None drops a character."""

    def __init__(self, is_dropped: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_dropped = is_dropped

    def __missing__(self, code: int) -> int | None:
        if len(self) >= _FOLD_TABLE_ENTRIES:
            self.clear()
        self[code] = translated = None if self._is_dropped(chr(code)) else code
        return translated


_FOLD_TABLE_ENTRIES = 65_536
"""Entries after which a table is emptied: a bound on memory for hostile texts."""
_WITHOUT_MARKS = _FoldTable(_is_dropped)
_VISIBLE = _FoldTable(_is_invisible)


def in_ranges(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Say whether a code point is in one of the ranges."""
    return any(first <= code <= last for first, last in ranges)


# Tokens, the same on every storage engine.

_MAX_TOKEN_CHARACTERS = 64
"""Characters at which a token is cut."""
_STEM_CHANGES = 2
"""Letters at the end of a stem that the word itself may not have: `happi` of `happy`."""
_WORDS_PER_YIELD = 512
"""Words or characters that are tokenized between two calls of `yield_cpu`."""
_ANY_RUN = re.compile("[a-z0-9\x80-\U0010ffff]+")
_UNSPACED_RUN = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
"""Kana, Han and Hangul syllables: letters of unspaced scripts, none of them a mark."""
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x31FF),  # radicals, kana, Hangul
    (0x3400, 0x9FFF),  # Han
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
"""Scripts without spaces between words, or with more than a word between two spaces."""
_EMOJI = ((0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
"""First and last code points of the blocks with emoji."""
_SEPARATOR, _LETTER, _MARK, _UNSPACED_LETTER, _PICTOGRAM = range(5)
"""The classes of characters that the tokenizer distinguishes."""


def ascii_table(signs: str = "") -> bytes:
    """Return a table for `ascii_words` by which some signs are parts of words."""
    in_words = (code < 128 and (chr(code).isalnum() or chr(code) in signs) for code in range(256))
    return bytes(code if is_in else ord(" ") for code, is_in in enumerate(in_words)).lower()


_WORD_TABLE = ascii_table()


def ascii_words(text: str, table: bytes = _WORD_TABLE) -> list[str]:
    """Return the runs of letters and digits of an ASCII text, in order and in lower case.

    To translate the bytes and split them takes half as long as to search for a pattern.
    """
    return text.encode("ascii").translate(table).decode("ascii").split()


def tokens(text: str, language: str = ENGLISH) -> list[str]:
    """Return the tokens of a text, in order."""
    return _tokenize(text, {}, keep_cpu, language)


def word_tokens(words: Iterable[str], language: str = ENGLISH) -> Iterator[str]:
    """Return the tokens of words of ASCII letters and digits in lower case."""
    return filter(None, map(_tokens_in(language).__getitem__, words))


def indexed_tokens(text: str, yield_cpu: YieldCpu = keep_cpu, language: str = ENGLISH) -> list[str]:
    """Return the tokens to index: those of the text, and each character of an unspaced script.

    A query of a single such character finds the text by the latter.
    """
    characters: dict[str, None] = {}
    text_tokens = _tokenize(text, characters, yield_cpu, language)
    distinct = set(text_tokens)
    return text_tokens + [character for character in characters if character not in distinct]


def query_terms(query: str, language: str = ENGLISH) -> list[str]:
    """Return the distinct tokens of a query, in order."""
    return list(dict.fromkeys(tokens(query, language)))


def term_prefix(term: str, language: str = ENGLISH) -> str:
    """Return a string that every folded text with this term contains, as far as one is known.

    For an English stem it is the beginning: words with the same stem differ in their endings.
    Stemmers of other languages may change the beginning too (`konig` of `koenig`): then it is
    empty, unless the term is of a kind that is never stemmed.
    """
    if is_english(language):
        is_stem = term.isascii() and term.isalpha()
        return term[: max(len(term) - _STEM_CHANGES, 1)] if is_stem else term
    is_stemmed = _character_class(term[0]) == _LETTER and not any(map(str.isnumeric, term))
    return "" if is_stemmed else term


def _tokenize(
    text: str, characters: dict[str, None], yield_cpu: YieldCpu, language: str
) -> list[str]:
    """Return the tokens of a text; add single characters of unspaced scripts to `characters`."""
    text = text[:MAX_INDEXED_CHARACTERS]
    if text.isascii():
        return _tokenize_ascii(ascii_words(text), yield_cpu, _tokens_in(language))
    result: list[str] = []
    for run in _ANY_RUN.findall(fold(text, yield_cpu, accents=not is_english(language))):
        if run.isascii():
            result.append(_token(run, language))
        else:
            result.extend(_tokenize_run(run, characters, yield_cpu, language))
        yield_cpu()
    return [token for token in result if token]


def _tokenize_ascii(words: list[str], yield_cpu: YieldCpu, cache: _TokenCache) -> list[str]:
    """Return the tokens of words that are all ASCII."""
    if len(words) <= _WORDS_PER_YIELD:  # the usual case, without copies
        yield_cpu()
        return [*filter(None, map(cache.__getitem__, words))]
    result: list[str] = []
    for start in range(0, len(words), _WORDS_PER_YIELD):
        batch = words[start : start + _WORDS_PER_YIELD]
        result += filter(None, map(cache.__getitem__, batch))
        yield_cpu()
    return result


class _TokenCache(BoundedCache[str, str]):
    """The tokens of words in one language, made when they are first asked for.

    A search tokenizes every candidate: a lookup in C costs a fraction of a call for each word.
    """

    __slots__ = ("_language",)

    def __init__(self, language: str) -> None:
        super().__init__(_CACHED_WORDS)
        self._language = language

    def __missing__(self, word: str) -> str:
        token = self[word] = _make_token(word, self._language)
        return token


_CACHED_WORDS = 65_536
"""Words of a language whose tokens are cached; a full cache is emptied."""
_token_caches: dict[str, _TokenCache] = {}


def _tokens_in(language: str) -> _TokenCache:
    """Return the tokens of a language by their words."""
    cache = _token_caches.get(language)
    return _token_caches.setdefault(language, _TokenCache(language)) if cache is None else cache


def _token(word: str, language: str) -> str:
    """Return the stem of a word without its accents; empty for a stop word."""
    return _tokens_in(language)[word]


def _make_token(word: str, language: str) -> str:
    """As `_token`. A word with digits is never stemmed; an English one has ASCII letters only."""
    if word in STOP_WORDS.get(language, ()):
        return ""
    if is_english(language):
        is_word = word.isascii() and word.isalpha()
    else:
        is_word = not any(map(str.isnumeric, word))
    token = stem(word, language) if is_word else word
    if not token.isascii():
        token = _translate(token, _WITHOUT_MARKS)
    return token[:_MAX_TOKEN_CHARACTERS]


def _word_tokens(word: str, language: str) -> list[str]:
    """Return the tokens of a word that may have accents: one or two, or none of a stop word."""
    token = _token(word, language)
    if not token or is_english(language):  # English words are folded already
        return [token]
    folded = _translate(word, _WITHOUT_MARKS)
    # A stop word is one with its accents: French `sûr` is none, and `sur` is.
    plain = token if folded == word else _plain_token(folded, language)
    return [token] if plain == token else [token, plain]


@lru_cache(maxsize=65_536)
def _plain_token(word: str, language: str) -> str:
    """Return the stem of a word without accents, whether it looks like a stop word or not."""
    is_word = not any(map(str.isnumeric, word))
    token = stem(word, language) if is_word else word
    return _translate(token, _WITHOUT_MARKS)[:_MAX_TOKEN_CHARACTERS]


@lru_cache(maxsize=65_536)
def _character_class(character: str) -> int:
    code = ord(character)
    category = unicodedata.category(character)
    if category[0] == "M":
        return _MARK
    if category[0] in "LN":
        return _UNSPACED_LETTER if in_ranges(code, _UNSPACED) else _LETTER
    return _PICTOGRAM if category == "So" and in_ranges(code, _EMOJI) else _SEPARATOR


def _tokenize_run(
    run: str, characters: dict[str, None], yield_cpu: YieldCpu, language: str
) -> list[str]:
    """Return the tokens of a run that is not all ASCII, by the classes of its characters."""
    if _UNSPACED_RUN.fullmatch(run):  # the usual case, without a step of Python a character
        return _tokenize_unspaced(run, characters, yield_cpu)
    clusters: list[tuple[int, str]] = []
    for position, character in enumerate(run):
        if not position % _WORDS_PER_YIELD:
            yield_cpu()
        character_class = _character_class(character)
        if character_class == _MARK:
            if clusters and clusters[-1][0] in (_LETTER, _UNSPACED_LETTER):
                clusters[-1] = (clusters[-1][0], clusters[-1][1] + character)
        else:
            clusters.append((character_class, character))
    result: list[str] = []
    for character_class, group in groupby(clusters, key=lambda cluster: cluster[0]):
        parts = [part for _, part in group]
        yield_cpu()
        if character_class == _LETTER:
            result.extend(_word_tokens("".join(parts), language))
        elif character_class == _UNSPACED_LETTER:
            parts = [part if len(part) == 1 else _translate(part, _WITHOUT_MARKS) for part in parts]
            result.extend(_bigrams(parts))
            characters.update(dict.fromkeys(part[:_MAX_TOKEN_CHARACTERS] for part in parts))
        elif character_class == _PICTOGRAM:
            result.extend(parts)
    return result


def _tokenize_unspaced(run: str, characters: dict[str, None], yield_cpu: YieldCpu) -> list[str]:
    """Return the pairs of neighbours in a run of single characters."""
    result: list[str] = [run] if len(run) == 1 else []
    for start in range(0, len(run), _WORDS_PER_YIELD):
        piece = run[start : start + _WORDS_PER_YIELD + 1]  # the last character is the next first
        result += map(add, piece, piece[1:])
        characters.update(dict.fromkeys(piece))
        yield_cpu()
    return result


def _bigrams(parts: Sequence[str]) -> list[str]:
    """Return the pairs of neighbours; a single part is its own token."""
    if len(parts) == 1:
        return [parts[0][:_MAX_TOKEN_CHARACTERS]]
    return [f"{first}{second}"[:_MAX_TOKEN_CHARACTERS] for first, second in pairwise(parts)]
