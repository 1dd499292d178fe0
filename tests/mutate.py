"""Damaged copies of files: the same ones for the same seed, for any bytes.

    for n, broken in enumerate(mutants([seed, other], 200, seed=7)): ...

Each mutant takes one of the seeds and applies one to four of the moves below. Some know nothing of a format; some look
for what formats have: little-endian sizes, digits, brackets, quoted words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

Move = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

EDGES = (0, 1, 2, 7, 8, 31, 32, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1,
         2**63, 2**64 - 1)  # fmt: skip
"""Numbers at which sizes go wrong."""

WORDS = (
    b"", b" ", b"\0", b"\n", b"'", b'"', b"\\", b"\\ud800", b"{", b"}", b"[", b"]", b"(", b")", b"[" * 3000,
    b"{" * 300, b"(" * 300, b",", b":", b"-", b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"null", b"true", b"9" * 30,
    b"9" * 5000, b"0.5", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"../../etc/passwd", b"/dev/zero", b"x" * 1000, b"__",
    b"lambda: 0", b"import os", b"**", b"//", b"%", b"<<", b"if", b"else", b"=", b"#", b"@", b"sum[i]", b"where=",
)  # fmt: skip
"""Pieces to put in or to put in place of a word."""


def mutants(seeds: Sequence[bytes], count: int, seed: int = 0) -> Iterator[bytes]:
    """`count` damaged copies of the seeds, taken in turn."""
    for n in range(count):
        r = random.Random(f"{seed}.{n}")
        data = seeds[n % len(seeds)]
        for _ in range(r.choice((1, 1, 1, 2, 2, 3, 4))):
            data = r.choice(MOVES)(r, data, seeds)
        yield data


def _place(r: random.Random, data: bytes) -> int:
    """A position, rather often near the start, where headers are."""
    return r.randrange(min(len(data), 64) if r.random() < 0.3 else len(data)) if data else 0


def flip_bits(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 8, 32)) if data else 0):
        changed[_place(r, data)] ^= 1 << r.randrange(8)
    return bytes(changed)


def set_bytes(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at, size = _place(r, data), r.choice((1, 1, 4, 16))
    return data[:at] + bytes(r.choice((0, 0xFF, 0x7F, 0x80, r.randrange(256))) for _ in range(size)) + data[at + size :]


def truncate(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data[: _place(r, data)] if r.random() < 0.8 else data[_place(r, data) :]


def extend(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data + (bytes(r.randrange(1, 64)) if r.random() < 0.5 else data[_place(r, data) :])


def splice(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """The start of one file and the end of another."""
    other = r.choice(seeds)
    return data[: _place(r, data)] + other[_place(r, other) :]


def edit_size(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """A whole number of 1 to 8 bytes replaced by one at the edge, or by a neighbour of what stands there."""
    width = r.choice((1, 2, 4, 4, 8, 8, 8))
    at = _place(r, data)
    at -= at % width if r.random() < 0.7 else 0
    old = int.from_bytes(data[at : at + width], "little")
    new = r.choice((*EDGES, old + 1, old - 1, old * 2, len(data), len(data) - at)) % (1 << 8 * width)
    return data[:at] + new.to_bytes(width, r.choice(("little", "little", "big"))) + data[at + width :]


def duplicate(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at, size = _place(r, data), r.choice((1, 4, 16, 64, 256))
    return data[: at + size] + data[at : at + size] * r.choice((1, 1, 2, 20)) + data[at + size :]


def reorder(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Two chunks that follow each other change places."""
    a, b, c = sorted(_place(r, data) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def delete(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = _place(r, data)
    return data[:at] + data[at + r.choice((1, 2, 4, 8, 64)) :]


def edit_magic(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start = bytearray(data[:16])
    for _ in range(r.choice((1, 2, 4)) if start else 0):
        start[r.randrange(len(start))] = r.randrange(256)
    return bytes(start) + data[16:]


def edit_digits(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """One number in digits replaced by another."""
    new = r.choice((*map(str, EDGES), "-1", "1.5", "1e9", "00", "9" * 40, "9" * 5000, "true", '"1"')).encode()
    return _replace_one(r, rb"\d+", data, new)


def edit_word(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """One word, or what stands in quotes or brackets, replaced by a piece of WORDS or by another such word."""
    pattern = r.choice(
        (rb"[A-Za-z_]\w*", rb'"[^"\n]*"', rb"\[[^][\n]*\]", rb"\{[^{}\n]*\}", rb"\([^()\n]*\)", rb"[^\w\s]+")
    )
    others = re.findall(pattern, r.choice(seeds)) or [b"x"]
    return _replace_one(r, pattern, data, r.choice(WORDS) if r.random() < 0.5 else r.choice(others))


def insert_word(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = _place(r, data)
    return data[:at] + r.choice(WORDS) + data[at:]


def swap_lines(r: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Lines change places, are doubled, are lost, or come from another seed."""
    lines = data.split(b"\n")
    a, b = r.randrange(len(lines)), r.randrange(len(lines))
    kind = r.randrange(4)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        lines.insert(a, lines[b])
    elif kind == 2:
        del lines[a]
    else:
        lines.insert(a, r.choice(r.choice(seeds).split(b"\n")))
    return b"\n".join(lines)


def _replace_one(r: random.Random, pattern: bytes, data: bytes, new: bytes) -> bytes:
    found = list(re.finditer(pattern, data))
    if not found:
        return data + new
    one = r.choice(found)
    return data[: one.start()] + new + data[one.end() :]


MOVES: tuple[Move, ...] = (
    flip_bits, set_bytes, truncate, extend, splice, edit_size, edit_size, duplicate, reorder, delete, edit_magic,
    edit_digits, edit_digits, edit_word, edit_word, insert_word, swap_lines,
)  # fmt: skip


# ---- printed kernels ----


class Seeded:
    """One change of a printed source: every place where `pattern` stands becomes `new`; `applied` counts them.

    `pattern` is a regular expression; `once` changes the first place only.
    """

    def __init__(self, pattern: str, new: str, *, once: bool = False) -> None:
        self.pattern, self.new, self.once, self.applied = re.compile(pattern, re.S), new, once, 0

    def __call__(self, text: str) -> str:
        changed, count = self.pattern.subn(self.new, text, count=1 if self.once else 0)
        self.applied += count
        return changed
