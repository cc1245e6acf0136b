"""Projects: the namespace of the folder that an assistant works in."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

NAMESPACE = "projects"
"""The namespace above those of all projects."""
_HASH_DIGITS = 8
"""Hexadecimal digits of the path's hash: two folders of one name differ in them."""
_NAME_CHARACTERS = 60
"""Characters of a folder's name in the namespace."""
_OTHERS = re.compile(r"[^\w.-]+")
_WORKTREE = re.compile(r"gitdir: (.+)/\.git/worktrees/[^/]+\s*")


def project_root(folder: Path) -> Path:
    """Return the root of the repository that a folder is in; else the folder itself.

    All worktrees of a repository are one project.
    """
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        mark = parent / ".git"
        if mark.is_dir():
            return parent
        if mark.is_file():
            match = _WORKTREE.fullmatch(mark.read_text("utf-8", errors="replace"))
            return Path(match[1]) if match else parent
    return folder


def project_namespace(folder: Path) -> str | None:
    """Return the namespace of a project; None for a folder that is none, such as the home.

    It has the name of the folder and a hash of its path: two projects of one name are two.
    """
    if not folder.is_dir():
        return None
    root = project_root(folder)
    if root in (Path.home().resolve(), Path(root.anchor)):
        return None
    name = _OTHERS.sub("-", root.name)[:_NAME_CHARACTERS].strip("-._") or "project"
    digest = sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:_HASH_DIGITS]
    return f"{NAMESPACE}/{name}-{digest}"
