"""The page as one file: its modules, styles, fonts and data in a document that needs no server.

The modules are those that a server sends. Each becomes a function of a script, after those that it
imports; a module of `offline` stands in for the one that talks to a server. The document's policy
names the hashes of its script and its style and allows nothing else: no other script runs, and
nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from memoranda.server.http.page import page_root, walk

_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_STYLESHEET = re.compile(r'<link rel="stylesheet" href="/page/([^"]+)">')
_IMPORT = re.compile(
    r"import\s*(?P<names>\{[^}]*\}|\w+)\s*from\s*[\"'](?P<module>[^\"']+)[\"'];?|"
    r"import\s*[\"'](?P<bare>[^\"']+)[\"'];?"
)
_DYNAMIC_IMPORT = re.compile(r"\bimport\(\"([^\"]+)\"\)")
_REEXPORT = re.compile(r"export\s*\{(?P<names>[^}]*)\}\s*from\s*[\"'](?P<module>[^\"']+)[\"'];?")
_EXPORT_LIST = re.compile(r"export\s*\{(?P<names>[^}]*)\};?")
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class)\b)", re.MULTILINE)
_EXPORTED_NAME = re.compile(
    r"^export (?:async )?(?:const|function|class) (?P<name>\w+)", re.MULTILINE
)
_DEFAULT = re.compile(r"export default ")
_SOURCE_MAP = re.compile(r"//# sourceMappingURL=\S*")
_ASSET = re.compile(r"/page/([\w./-]+\.(?:svg|woff2))")
_ASSET_TYPES = {"svg": "image/svg+xml", "woff2": "font/woff2"}
_ENTRY = "page/app.js"
_REPLACED = {
    "page/lib/carrier.js": "page/offline/carrier.js",
    "page/lib/address.js": "page/offline/address.js",
}
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; font-src data:; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)
_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>{style}</style>
</head>
<body>
<div id="app"><p class="boot">Loading …</p></div>
<noscript><p class="boot">This page needs JavaScript.</p></noscript>
<script type="application/json" id="story">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def make_document(title: str, story: Mapping[str, Any]) -> str:
    """Return the document of a story."""
    pages = {name: body for name, body in walk(page_root()) if not name.startswith("licenses/")}
    index = pages["index.html"].decode()
    script = _as_data(_Bundle(pages, _specifiers(index)).script(), pages)
    styles = (pages[name].decode() for name in _STYLESHEET.findall(index))
    style = _as_data("\n".join(styles), pages)
    assert "</script" not in script.lower(), "it would end its own element"
    assert "</style" not in style.lower(), "it would end its own element"
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    return _DOCUMENT.format(
        policy=policy,
        title=html.escape(title),
        icon=_data_url("icon.svg", pages),
        style=style,
        data=embeddable(story),
        script=script,
    )


def embeddable(value: Mapping[str, Any]) -> str:
    """Return JSON without a character that could end a script element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data_url(name: str, pages: Mapping[str, bytes]) -> str:
    content = base64.b64encode(pages[name]).decode()
    return f"data:{_ASSET_TYPES[name.rpartition('.')[2]]};base64,{content}"


def _as_data(text: str, pages: Mapping[str, bytes]) -> str:
    """Return a text with the addresses of pictures and fonts replaced by their content."""
    return _ASSET.sub(lambda match: _data_url(match[1], pages), text)


# Modules.


def _specifiers(index: str) -> dict[str, str]:
    """Return the import map of the page: specifier -> address; one that ends in `/` is a prefix."""
    match = _IMPORT_MAP.search(index)
    assert match is not None, "the page has an import map"
    imports: dict[str, str] = json.loads(match[1])["imports"]
    return imports


class _Bundle:
    """The modules of the page as one script, each after those it imports."""

    def __init__(self, pages: Mapping[str, bytes], specifiers: Mapping[str, str]) -> None:
        self._pages = pages
        self._specifiers = specifiers
        self._names: dict[str, str] = {}
        """Specifier -> the name of its exports in the script; in the order of their definition."""
        self._open: list[str] = []
        """The modules that are being added, each imported by the one before."""
        self._parts: list[str] = []

    def script(self) -> str:
        """Return the script."""
        self._add(_ENTRY)
        return "\n".join(self._parts)

    def _add(self, specifier: str) -> str:
        """Add a module, unless it is there, and return the name of its exports."""
        specifier = _REPLACED.get(specifier, specifier)
        if specifier in self._names:
            return self._names[specifier]
        assert specifier not in self._open, f"{self._open} import each other"
        self._open.append(specifier)
        body = self._convert(self._source(specifier))
        self._open.pop()
        name = self._names[specifier] = f"m{len(self._names)}"
        self._parts.append(f"// {specifier}\nconst {name} = (() => {{\n{body}\n}})();")
        return name

    def _source(self, specifier: str) -> str:
        if specifier in self._specifiers:
            address = self._specifiers[specifier]
        else:
            prefix = specifier.partition("/")[0] + "/"
            address = self._specifiers[prefix] + specifier.removeprefix(prefix)
        return self._pages[address.removeprefix("/page/")].decode()

    def _convert(self, source: str) -> str:
        """Return a module as the body of a function that returns its exports."""
        exports = [f"{name}" for name in _EXPORTED_NAME.findall(source)]
        text = _SOURCE_MAP.sub("", source)
        text = _REEXPORT.sub(lambda match: self._reexport(match, exports), text)
        text = _IMPORT.sub(self._import, text)
        text = _DYNAMIC_IMPORT.sub(lambda match: f"Promise.resolve({self._add(match[1])})", text)
        text = _EXPORT_LIST.sub(lambda match: _keep(_pairs(match["names"]), exports), text)
        text = _EXPORT.sub("", text)
        if _DEFAULT.search(text):
            text = _DEFAULT.sub("const default_ = ", text)
            exports.append("default: default_")
        return f"{text}\nreturn {{ {', '.join(exports)} }};"

    def _import(self, match: re.Match[str]) -> str:
        module = self._add(match["module"] or match["bare"])
        names = match["names"]
        if names is None:
            return ""
        if not names.startswith("{"):
            return f"const {names} = {module}.default;"
        pairs = ", ".join(f"{outer}: {inner}" for outer, inner in _pairs(names.strip("{}")))
        return f"const {{ {pairs} }} = {module};"

    def _reexport(self, match: re.Match[str], exports: list[str]) -> str:
        module = self._add(match["module"])
        for inner, outer in _pairs(match["names"]):
            exports.append(f"{outer}: {module}.{inner}")
        return ""


def _keep(pairs: list[tuple[str, str]], exports: list[str]) -> str:
    exports += [f"{outer}: {inner}" for inner, outer in pairs]
    return ""


def _pairs(names: str) -> list[tuple[str, str]]:
    """Return the names of an import or export list, with those after `as`."""
    pairs = []
    for item in filter(None, (part.strip() for part in names.split(","))):
        first, _, second = item.partition(" as ")
        pairs.append((first.strip(), (second or first).strip()))
    return pairs
