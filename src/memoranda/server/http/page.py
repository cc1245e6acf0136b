"""The files of the page: they are read from the package once, and served as they are.

Every view of the page has its own address, with the same document; the query selects the content.
Nothing is loaded from elsewhere, and no script or style stands in the document, which the
Content-Security-Policy asks a browser to enforce. The only exception is the import map, which
browsers take from the document alone: the policy names its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from memoranda.server.http.conditions import is_unchanged
from memoranda.server.http.messages import Headers, Request, Response

PAGE_PREFIX = "/page/"
"""Where the files are; the addresses of views are beside it."""
VIEWS = ("timeline", "why", "inbox", "facts", "recall", "trust", "compare")
_INDEX = "index.html"
_CONTENT_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "mjs": b"text/javascript; charset=utf-8",
    "json": b"application/json",
    "svg": b"image/svg+xml",
    "txt": b"text/plain; charset=utf-8",
    "woff2": b"font/woff2",
}
_INLINE = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)
_REVALIDATED = (b"cache-control", b"no-cache")
"""A browser asks each time whether a file has changed: a new version of the package is seen at
once, and an unchanged file costs an empty answer."""


class PageFile(msgspec.Struct, frozen=True):
    """A file of the page, with the headers it is sent with."""

    body: bytes
    content_type: bytes
    tag: bytes
    headers: Headers

    def answer(self, request: Request) -> Response:
        """Return the file, or that the browser has it already."""
        headers: Headers = [(b"etag", self.tag), *self.headers]
        if is_unchanged(request, self.tag):
            return Response(status=304, content_type=None, headers=headers)
        return Response(body=self.body, content_type=self.content_type, headers=headers)


class PageFiles:
    """The files of the page, by the path of their address."""

    def __init__(self) -> None:
        self._files: Mapping[str, PageFile] = {}

    def find(self, path: str) -> PageFile | None:
        """Return the file at an address; None if there is none."""
        if path != "/" and path[1:] not in VIEWS and not path.startswith(PAGE_PREFIX):
            return None
        if not self._files:
            self._files = dict(_read_page())
        return self._files.get(path)


def page_root() -> Traversable:
    """Return the folder of the page in the package."""
    return files("memoranda.server") / "page"


def walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the name, below a folder, and the content of each file in it."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()


def _read_page() -> Iterator[tuple[str, PageFile]]:
    for name, body in walk(page_root()):
        content_type = _CONTENT_TYPES.get(name.rpartition(".")[2])
        if content_type is None:
            continue
        tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()
        if name == _INDEX:
            document = PageFile(body, content_type, tag, _document_headers(body))
            yield "/", document
            for view in VIEWS:
                yield f"/{view}", document
        else:
            yield PAGE_PREFIX + name, PageFile(body, content_type, tag, [_REVALIDATED])


def _document_headers(body: bytes) -> Headers:
    hashes = b"".join(
        b" 'sha256-%b'" % base64.b64encode(hashlib.sha256(text).digest())
        for text in _INLINE.findall(body)
    )
    policy = (
        b"default-src 'none'; script-src 'self'%b; style-src 'self'; font-src 'self'; "
        b"img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
    return [
        _REVALIDATED,
        (b"content-security-policy", policy % hashes),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
    ]
