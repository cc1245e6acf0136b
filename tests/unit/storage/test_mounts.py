"""Network file systems are recognised, and refused unless they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput
from memoranda.storage.sqlite import placement
from memoranda.storage.sqlite.placement import network_file_system

MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/export /mnt/nfs nfs4 rw 0 0
/dev/vdb /mnt/nfs/local xfs rw 0 0
//host/share /mnt/with\\040space cifs rw 0 0
remote: /home/me/far fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/store.db", None),
        ("/mnt/nfs/store.db", "nfs4"),
        ("/mnt/nfs/deeper/store.db", "nfs4"),
        ("/mnt/nfs/local/store.db", None),
        ("/mnt/nfsx/store.db", None),
        ("/mnt/with space/store.db", "cifs"),
        ("/home/me/far/store.db", "fuse.sshfs"),
    ],
)
def test_the_deepest_mount_decides(tmp_path: Path, path: str, kind: str | None) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert network_file_system(Path(path), mounts) == kind


def test_where_nobody_tells_nothing_is_refused(tmp_path: Path) -> None:
    assert network_file_system(tmp_path, tmp_path / "no such file") is None


def test_a_network_file_system_is_refused_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "network_file_system", lambda _: "nfs4")
    path = tmp_path / "store.db"
    with pytest.raises(InvalidInput, match=r"nfs4.*allow_network_file_system"):
        memoranda.open(path)
    assert not path.exists()
    with memoranda.open(path, allow_network_file_system=True) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 1
