"""Mounts: whether a path is on a network file system, whose locks SQLite cannot rely on."""

from __future__ import annotations

from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_NETWORK = frozenset(
    {
        *("afs", "ceph", "cifs", "davfs", "gfs", "gfs2", "glusterfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "smb3", "smbfs"),
        *("fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)


def network_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the kind of network file system that holds `path`; None: none, or nobody tells."""
    kind = file_system(path, mounts)
    return kind if kind in _NETWORK else None


def file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the kind of file system that holds `path`; None: nobody tells."""
    if not mounts.exists():
        return None
    place = path.resolve()
    kind, deepest = None, -1
    for line in mounts.read_text("utf-8", errors="surrogateescape").splitlines():
        _, folder, found, *_ = line.split(" ")
        mounted = Path(folder.encode("latin-1", "replace").decode("unicode_escape"))
        if place.is_relative_to(mounted) and len(mounted.parts) > deepest:
            kind, deepest = found, len(mounted.parts)
    return kind
