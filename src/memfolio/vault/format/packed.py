"""Compressed files of the archive, `….md.gz`: the same text always becomes the same bytes. Pure."""

from __future__ import annotations

import zlib

from memfolio.errors import DiskError

SUFFIX = ".gz"
MOST = 16 * 1024 * 1024
"""Bytes to which a file may unpack: as many as any file of a home may have."""
_GZIP = 16 + zlib.MAX_WBITS


def is_packed(path: str) -> bool:
    return path.endswith(f".md{SUFFIX}")


def plain_name(path: str) -> str:
    """The name that a compressed file has once it is unpacked; of any other file its own."""
    return path.removesuffix(SUFFIX) if is_packed(path) else path


def text_of(path: str, data: bytes) -> bytes:
    """What is written in a file, unpacked if it is a compressed one; raises DiskError where that cannot be."""
    return _unpacked(path, data) if is_packed(path) else data


def pack(path: str, text: bytes) -> bytes:
    """What to write into the file at `path` so that `text_of` gives the text."""
    if not is_packed(path):
        return text
    import gzip

    return gzip.compress(text, mtime=0)


def _unpacked(path: str, data: bytes) -> bytes:
    """Unpacks no further than allowed, and what was packed at once: a small file may claim to hold anything."""
    stream = zlib.decompressobj(_GZIP)
    try:
        text = stream.decompress(data, MOST + 1)
    except zlib.error as error:
        raise _damaged(path, "is not a whole gzip file") from error
    if len(text) > MOST:
        raise _damaged(path, f"unpacks to more than {MOST >> 20} MiB")
    if not stream.eof:
        raise _damaged(path, "is cut off")
    if stream.unused_data:
        raise _damaged(path, "has more in it than one packed text")
    return text


def _damaged(path: str, what: str) -> DiskError:
    return DiskError(f"{path} {what}", hint="`memfolio log` shows what changed it, `memfolio undo` takes that back")
