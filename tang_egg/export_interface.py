"""The interface of a C library: which arrays and dims a caller gives, under names that C and C++ accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tang_egg.affine import Affine, Dim
from tang_egg.codegen.legalize import identifier
from tang_egg.errors import ArtefactError
from tang_egg.ir import Input, Source, Tensor
from tang_egg.ops_eight import EIGHT
from tang_egg.program import Program
from tang_egg.run_layout import Layout, in_place

TYPES = {
    "f32": "float", "f64": "double", "f16": "uint16_t", "bf16": "uint16_t", "bool": "uint8_t",
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
}  # fmt: skip
"""How a caller sees elements. f16 and bf16 are seen as their bits, a bool as 0 or 1."""

_CPP = frozenset(
    "and_eq asm bitand bitor bool catch char16_t char32_t char8_t compl concept const_cast consteval constinit "
    "co_await co_return co_yield dynamic_cast false not_eq or_eq reinterpret_cast requires static_assert static_cast "
    "thread_local true typeid wchar_t xor xor_eq complex imaginary size_t weights".split()
)
"""Words of C++ and of its headers that no member may be, and the member that every library with weights has."""


_TAKEN = frozenset(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math omp setjmp signal stdalign stdarg "
    "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype "
    "all check clean example help install package test".split()
)
"""What no library is called: its header would hide one of C or of OpenMP, its source or a target of a build another."""


@dataclass(frozen=True, slots=True)
class Field:
    """An array of the interface. `member`: its name in C; `original`: its name in the model that was compiled."""

    source: Input | Tensor
    member: str
    original: str

    @property
    def type(self) -> str:
        return TYPES[self.source.dtype]


@dataclass(frozen=True, slots=True)
class Interface:
    """A program as a C library sees it.

    `inputs` are the caller's, `weights` those that are stored beside the library. `outputs` have memory of the caller's
    own; `updates` are written into the memory of a donated input, by the name of that input.
    """

    name: str
    program: Program
    layout: Layout
    dims: tuple[tuple[Dim, str], ...]
    inputs: tuple[Field, ...]
    weights: tuple[Field, ...]
    outputs: tuple[Field, ...]
    updates: tuple[Field, ...]
    originals: Mapping[str, str] = field(default_factory=dict)

    @property
    def upper(self) -> str:
        """The prefix of constants."""
        return self.name.upper()

    @property
    def arrays(self) -> tuple[Source, ...]:
        """Every array of the program, those of the interface first."""
        ends: tuple[Field, ...] = (*self.inputs, *self.weights, *self.outputs, *self.updates)
        return (*(f.source for f in ends), *self.layout.temporaries)

    def donated(self, output: Tensor) -> Field | None:
        """The input whose memory an output takes."""
        return next((f for f in self.inputs if f.source.name == output.into), None) if output.into else None

    def staged(self) -> tuple[Field, ...]:
        """Updates that are made in the workspace and copied, since kernels still read the old values."""
        return tuple(f for f in self.updates if isinstance(f.source, Tensor) and not in_place(self.program, f.source))


def interface(
    name: str, program: Program, layout: Layout, bound: Iterable[str], originals: Mapping[str, str] | None = None
) -> Interface:
    """The interface of a program whose inputs `bound` are stored. `originals`: names of inputs and outputs elsewhere.

    Raises ArtefactError for a name that C cannot take, and for 8-bit floats.
    """
    check_name(name)
    every: tuple[Input | Tensor, ...] = (*program.graph.inputs, *program.graph.outputs)
    short = next((s for s in every if s.dtype in EIGHT), None)
    if short is not None:
        raise ArtefactError(
            f"'{short.name}' has 8-bit floats, which the example of an exported library cannot fill",
            where=f"the interface of '{name}'",
            mend="declare it f16 or bf16, or call the compiled program from Python",
        )
    known, held = dict(originals or {}), set(bound)
    taken: set[str] = set()

    def fields(sources: Iterable[Input | Tensor]) -> tuple[Field, ...]:
        return tuple(Field(s, _member(s.name, taken), known.get(s.name, s.name)) for s in sources)

    graph = program.graph
    inputs = fields(i for i in graph.inputs if i.name not in held)
    outputs = fields(t for t in graph.outputs if not t.into)
    updates = fields(t for t in graph.outputs if t.into)
    weights = fields(i for i in graph.inputs if i.name in held)
    taken = set()
    dims = tuple((d, _member(d.name, taken)) for d in graph.dims())
    return Interface(name, program, layout, dims, inputs, weights, outputs, updates, known)


def check_name(name: str) -> None:
    """Raises ArtefactError unless a library of C can have this name."""
    low = name.lower() if isinstance(name, str) else ""
    if low in _TAKEN:
        raise ArtefactError(
            f"a C library cannot be called '{name}': a header of C, or a file or target of the library's own, is",
            where="the name of the library",
            mend=f"give another name: --name my_{low}",
        )
    if not low or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name) or identifier(low, set()) != low:
        raise ArtefactError(
            f"'{name}' cannot be the name of a C library",
            where="the name of the library",
            mend="give up to 63 letters, digits and underscores, a letter first, and no word of C: --name model",
        )


def library_name(text: str) -> str:
    """A name that a C library can have, as near to `text` as possible: `MiniLM-L6 v2` gives `minilm_l6_v2`."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:48] or "model"
    if not plain[0].isalpha() or plain in _TAKEN or identifier(plain, set()) != plain:
        plain = f"model_{plain}"
    return plain


def _member(name: str, taken: set[str]) -> str:
    """A member of a struct, unique among `taken`."""
    found = identifier(name, taken)
    if found not in _CPP:
        return found
    return identifier(f"{found}_", taken)


def shape_text(shape: Iterable[Affine]) -> str:
    """A shape as a reader of the header sees it: `[4, seq, 64]`."""
    return f"[{', '.join(map(str, shape))}]"
