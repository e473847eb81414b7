"""Whether a path lies on a network file system, where SQLite's WAL must not be used."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_network_mount"]

_NETWORK = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "afs", "9p")
_FUSE = ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.gcsfuse", "fuse.ceph")


def is_network_mount(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> bool:
    """True when the longest mount point above `path` is of a network type; False if unknowable."""
    try:
        lines = mountinfo.read_text().splitlines()
    except OSError:
        return False
    resolved = path.resolve()
    kind, depth = "", -1
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        mount = Path(fields[4].replace("\\040", " "))
        if resolved.is_relative_to(mount) and len(mount.parts) >= depth:
            kind, depth = right.split(" ")[0], len(mount.parts)
    return kind.startswith(_NETWORK) or kind in _FUSE
