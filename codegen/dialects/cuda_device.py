"""Statements of device.py in CUDA C++: addresses in shared memory, matrix products, roles, barriers and bulk copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tang_egg.codegen.device import (
    BYTES,
    LINE,
    REGISTER_LIMIT,
    STEP,
    WHOLE,
    Announce,
    Arrive,
    Await,
    CopyCommit,
    CopyDrain,
    CopyIn,
    CopyOut,
    Expect,
    Forever,
    Leave,
    LoadTile,
    Mma,
    MmaCommit,
    MmaFence,
    MmaWait,
    Packed,
    ProxyFence,
    Retire,
    Role,
    Roles,
    Signal,
    Stage,
    StoreTile,
    Sync,
    Ticket,
    Tile,
    WarpSync,
    accumulated,
    columns_step,
    multiplied,
)
from tang_egg.codegen.kernel import Expr, Form, element
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun
from tang_egg.codegen.printer import Printer, strip
from tang_egg.errors import CodegenError

MOST_REGISTERS = 255
"""Registers that one thread can have."""


# ---- addresses ----


def sum_of(base: str, *terms: str | int) -> str:
    """`base` plus terms, without those that are 0."""
    numbers = sum(t for t in terms if isinstance(t, int))
    texts = [t for t in terms if isinstance(t, str)]
    return " + ".join([base, *texts, *([str(numbers)] if numbers else [])])


def _scaled(e: Expr, n: int, p: Printer) -> str | int:
    """An expression times a number; a number where the expression is one."""
    if isinstance(e, Form) and e.form.value is not None:
        return e.form.value * n
    text = p.expr(e)
    return text if n == 1 else f"{text} * {n}"


def _barrier_at(signal: Signal, slot: Expr, p: Printer) -> str:
    return sum_of(signal.name, _scaled(slot, 8, p))


def _box_at(stage: Stage, slot: Expr, box: Expr | int, p: Printer, line: Expr | None = None) -> str:
    """The shared address of a line of a box of a tile."""
    along = box * stage.box_bytes if isinstance(box, int) else _scaled(box, stage.box_bytes, p)
    down = 0 if line is None else _scaled(line, LINE, p)
    return sum_of(stage.name, _scaled(slot, stage.bytes, p), along, down)


def _coordinates(at: tuple[Expr, ...], p: Printer) -> str:
    return ", ".join(strip(p.expr(x)) for x in reversed(at))


# ---- matrix products ----


_KINDS = {"i8": "s8", "f8e4m3": "e4m3", "f8e5m2": "e5m2"}
"""The names of types in instructions, where they are others than ours."""


@dataclass(frozen=True, slots=True, order=True)
class Product:
    """A shape of matrix product: 64 x `n`, operands of `type`; `a`, `b`: major of a shared operand, `a` may be "r".

    `left`: the type of the left operand.
    """

    type: str
    n: int
    a: str
    b: str
    left: str

    @property
    def name(self) -> str:
        types = self.type if self.left == self.type else f"{self.left}_{self.type}"
        return f"te_mma_{types}_{self.n}_{self.a}_{self.b}"

    def wrapper(self) -> str:
        """A device function that issues one instruction; `keep` 0 takes the accumulator for zero."""
        count = self.n // 2
        sums = ", ".join(f"%{i}" for i in range(count))
        whole = self.type in WHOLE
        places = ", ".join(f'"+{"r" if whole else "f"}"(d[{i}])' for i in range(count))
        depth = STEP // BYTES[self.type]
        shared = self.a != "r"
        a = f"%{count}" if shared else "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        after = count + (1 if shared else 4)
        turned = [str(int(major == "mn")) for major in ((self.a, self.b) if shared else (self.b,))]
        # signs, of floats; which operands lie across, of 16 bits
        flags = "" if whole else ", 1, 1" + ("".join(f", {t}" for t in turned) if BYTES[self.type] == 2 else "")
        takes = "te_u64 a" if shared else "te_u32 a0, te_u32 a1, te_u32 a2, te_u32 a3"
        if not shared and BYTES[self.type] == 4:
            takes = "float a0, float a1, float a2, float a3"
        given = '"l"(a)' if shared else ", ".join(f'"r"({_bits(f"a{i}", self.type)})' for i in range(4))
        held = "int" if whole else "float"
        total, left, right = "s32" if whole else "f32", *(_KINDS.get(t, t) for t in (self.left, self.type))
        shape = f"wgmma.mma_async.sync.aligned.m64n{self.n}k{depth}.{total}.{left}.{right}"
        return (
            f"TE_DEVICE void {self.name}({held} (&d)[{count}], {takes}, te_u64 b, int keep)\n{{\n"
            f'    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{after + 1}, 0;\\n"\n'
            f'                 "{shape} "\n'
            f'                 "{{{sums}}}, "\n'
            f'                 "{a}, %{after}, p{flags};\\n}}\\n"\n'
            f"                 : {places}\n"
            f'                 : {given}, "l"(b), "r"(keep));\n}}\n'
        )


def product(s: Mma) -> Product:
    """The shape of a product. Raises CodegenError where there is no such instruction."""
    kind = "tf32" if s.b.stage.type == "f32" else s.b.stage.type
    columns = 2 * (s.acc.size.value or 0)
    a = "r" if isinstance(s.a, Packed) else s.a.major
    held = element(s.a.buffer.type) if isinstance(s.a, Packed) else s.a.stage.type
    wrong = ""
    if columns % columns_step(columns, kind) or not 8 <= columns <= 256:
        wrong = f"an accumulator of {columns} columns"
    elif not (multiplied(held, kind) or (kind == "tf32" and held in ("f32", "tf32"))):
        wrong = f"a product of {held} and {s.b.stage.type}"
    elif s.acc.type != accumulated(kind) or (BYTES[kind] == 1 and (a, s.b.major) != ("k", "k")):
        wrong = f"a product of {held} into {s.acc.type}, or of 8 bits that do not lie along the contraction"
    elif kind == "tf32" and (a == "mn" or s.b.major != "k"):
        wrong = "a product of f32 whose contraction index does not lie along lines"
    if wrong:
        raise CodegenError(
            f"there is no matrix instruction for {wrong}",
            where=f"a product into '{s.acc.name}'",
            mend="use 8, 16 ... 256 columns, one type of 16 bits, or f32 or integers with shared operands of major 'k'",
        )
    return Product(kind, columns, a, s.b.major, "tf32" if kind == "tf32" else held)


def _bits(name: str, type: str) -> str:
    return f"__float_as_uint({name})" if BYTES[type] == 4 else name


def _descriptor(t: Tile, p: Printer) -> str:
    if t.major == "k":
        return f"te_tile({sum_of(_box_at(t.stage, t.slot, 0, p), _scaled(t.first, LINE, p))}, 16)"
    return f"te_tile({_box_at(t.stage, t.slot, t.first, p)}, {t.stage.box_bytes})"


def _along(t: Tile, step: int) -> int:
    """16-byte units from an operand's start to where instruction `step` of the contraction index begins."""
    if t.major == "k":
        boxes, inside = divmod(step * STEP, LINE)
        return (boxes * t.stage.box_bytes + inside) // 16
    return step * (STEP // BYTES[t.stage.type]) * LINE // 16


def _mma(s: Mma, p: Printer) -> None:
    name = product(s).name
    p.emit("{")
    p.depth += 1
    if isinstance(s.a, Tile):
        p.emit(f"const te_u64 te_a = {_descriptor(s.a, p)};")
    p.emit(f"const te_u64 te_b = {_descriptor(s.b, p)};")
    p.emit(f"const int te_keep = !{p.expr(s.fresh)};")
    for step in range(s.steps):
        if isinstance(s.a, Packed):
            a = ", ".join(f"{s.a.buffer.name}[{s.a.first + 4 * step + n}]" for n in range(4))
        else:
            a = sum_of("te_a", _along(s.a, step))
        p.emit(f"{name}({s.acc.name}, {a}, {sum_of('te_b', _along(s.b, step))}, {1 if step else 'te_keep'});")
    p.depth -= 1
    p.emit("}")


# ---- other device statements ----


def _roles(s: Roles, p: Printer) -> None:
    first = 0
    for n, role in enumerate(s.roles):
        p.emit(f"{'} else ' if n else ''}if (te_warpgroup < {first + role.groups}) {{  // {role.name}")
        p.depth += 1
        _role(role, first, p)
        p.depth -= 1
        first += role.groups
    p.emit("}")


def _role(role: Role, first: int, p: Printer) -> None:
    launch = p.kernel.launch
    assert launch is not None
    cap = min(REGISTER_LIMIT // (launch.threads * launch.resident), MOST_REGISTERS) // 8 * 8
    if role.registers:
        p.emit(f"te_{'fewer' if role.registers < cap else 'more'}_registers<{role.registers}>();")
    p.emit(f"const int te_group = te_warpgroup{f' - {first}' if first else ''};")
    if not role.single:
        p.block(role.body)
        return
    p.emit("if (te_group == 0 && te_thread == 0) {")
    p.nested(role.body)
    p.emit("}")


def _forever(s: Forever, p: Printer) -> None:
    p.emit("while (true) {")
    p.nested(s.body)
    p.emit("}")


_ARRIVES = {"thread": "", "warp": "if ((te_thread & 31) == 0) ", "group": "if (te_thread == 0) "}


def _copy_in(s: CopyIn, p: Printer) -> None:
    to, bar = _box_at(s.stage, s.slot, s.box, p), _barrier_at(s.signal, s.signal_slot, p)
    p.emit(f"te_copy_in({to}, {s.map.name}, {bar}, {_coordinates(s.at, p)});")


def _copy_out(s: CopyOut, p: Printer) -> None:
    p.emit(f"te_copy_out({s.map.name}, {_box_at(s.stage, s.slot, s.box, p, s.line)}, {_coordinates(s.at, p)});")


def _store_tile(s: StoreTile, p: Printer) -> None:
    values = ", ".join(p.expr(v) for v in s.values)
    size = 8 * BYTES[s.stage.type]
    turned, box = (f"_{size}_turned", f"{s.stage.box_bytes}, ") if s.major == "mn" else (f"_{size}", "")
    line = f"{box}{strip(p.expr(s.line))}, {s.chunk}"
    p.emit(f"te_store{turned}({_box_at(s.stage, s.slot, s.box, p)}, {line}, {values});")


def _load_tile(s: LoadTile, p: Printer) -> None:
    into = ", ".join(f"{s.target.name}[{s.at + n}]" for n in range(4))
    size = 8 * BYTES[s.stage.type]
    name = f"te_load_{size}" if s.major == "k" else f"te_load_{size}_turned"
    line = str(s.stage.box_bytes) if (size, s.major) == (32, "mn") else strip(p.expr(s.line))
    p.emit(f"{name}({into}, {_box_at(s.stage, s.slot, s.box, p)}, {line}, {s.chunk});")


def _mma_wait(s: MmaWait, p: Printer) -> None:
    p.emit(f"te_mma_wait<{s.pending}>();")
    for b in s.pins:
        p.emit(f"te_pin({b.name});")


def _retire(s: Retire, p: Printer) -> None:
    p.emit("__threadfence();")
    last = f"atomicAdd(te_counters + {s.counter + 1}, 1) == te_blocks - 1"
    p.emit(f"if ({last}) te_counters[{s.counter}] = 0, te_counters[{s.counter + 1}] = 0;")


def _line(text: Callable[[Any, Printer], str]) -> Callable[[Any, Printer], None]:
    """The printer of a statement that is one line."""
    return lambda s, p: p.emit(text(s, p))


def _how(s: ReadRun | WriteRun) -> str:
    past = (s.source if isinstance(s, ReadRun) else s.target).stream
    return f"{s.count}, {str(s.aligned).lower()}, true" if past else f"{s.count}, true" if s.aligned else str(s.count)


def _write_run(s: WriteRun, p: Printer) -> None:
    name = "te_write_run" if s.source.type == s.target.type else "te_write_rounded"
    p.emit(f"{name}<{_how(s)}>({s.target.name} + {p.expr(s.index)}, {s.source.name});")


DEVICE: dict[type, Callable[[Any, Printer], None]] = {
    Roles: _roles,
    Forever: _forever,
    Leave: _line(lambda s, p: f"if ({strip(p.expr(s.condition))}) break;"),
    Expect: _line(lambda s, p: f"te_expect({_barrier_at(s.signal, s.slot, p)}, {s.bytes});"),
    Arrive: _line(lambda s, p: f"{_ARRIVES[s.who]}te_arrive({_barrier_at(s.signal, s.slot, p)});"),
    Await: _line(lambda s, p: f"te_await({_barrier_at(s.signal, s.slot, p)}, {p.expr(s.parity)});"),
    CopyIn: _copy_in,
    CopyOut: _copy_out,
    CopyCommit: _line(lambda s, p: "te_copy_commit();"),
    CopyDrain: _line(lambda s, p: f"te_copy_drain{'_reads' if s.reading else ''}<{s.pending}>();"),
    Mma: _mma,
    MmaFence: _line(lambda s, p: "te_mma_fence();"),
    MmaCommit: _line(lambda s, p: "te_mma_commit();"),
    MmaWait: _mma_wait,
    StoreTile: _store_tile,
    LoadTile: _load_tile,
    Sync: _line(lambda s, p: f"te_sync({p.expr(s.id)}, {s.threads});"),
    Announce: _line(lambda s, p: f"te_announce({p.expr(s.id)}, {s.threads});"),
    WarpSync: _line(lambda s, p: "__syncwarp();"),
    ProxyFence: _line(lambda s, p: "te_proxy_fence();"),
    Ticket: _line(lambda s, p: f"const int {s.name} = te_blocks + atomicAdd(te_counters + {s.counter}, 1);"),
    Retire: _retire,
    ReadRun: _line(lambda s, p: f"te_read_run<{_how(s)}>({s.into.name}, {s.source.name} + {p.expr(s.index)});"),
    WriteRun: _write_run,
}
"""How each statement of device.py is printed."""
