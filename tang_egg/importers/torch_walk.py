"""A graph of ATen operators, walked node by node: each becomes traced arrays by the table of operators.

    node.meta["val"] (what PyTorch says of the result) + rows of the table → Traced, Affine, tuples of them

An operator that is not in the table, or that its row refuses, ends in a GraphError that names the node.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError, TangError
from tang_egg.expression import Expression
from tang_egg.importers.torch_table import bound, find
from tang_egg.importers.torch_value import Out, Symbols, converted, real, torch, type_name
from tang_egg.importers.weights import identifier
from tang_egg.notation import Array
from tang_egg.traced import Traced, of

Node = Any

IGNORED = ("_assert_async", "_assert_scalar", "sym_constrain_range_for_size", "sym_constrain_range",
           "_assert_tensor_metadata", "_check_is_size")  # fmt: skip
"""Checks without a result that can be used; sizes are checked when dims are bound."""


def refusal(what: str, mend: str) -> GraphError:
    """The error of one node; the walk says where that stands."""
    return GraphError(what, where="torch_walk", mend=mend)


def _floats(f: Callable[..., Expression]) -> Callable[..., Expression]:
    return lambda *x: f(*(real(v) for v in x))


def _power(x: Any, y: Any) -> Expression:
    if y in (0.5, -0.5):
        return e.sqrt(real(x)) if y > 0 else e.rsqrt(real(x))
    if isinstance(y, int) or (isinstance(y, float) and y == int(y)):
        return real(x) ** int(y)
    raise refusal(f"a size to the power {y!r}", mend="use a whole exponent, 0.5 or -0.5")


PYTHON: dict[Any, Callable[..., Any]] = {
    operator.truediv: _floats(lambda a, b: a / b),
    operator.add: _floats(lambda a, b: a + b),
    operator.sub: _floats(lambda a, b: a - b),
    operator.mul: _floats(lambda a, b: a * b),
    operator.neg: _floats(lambda a: -a),
    operator.pow: _power,
    pow: _power,
    math.sqrt: _floats(e.sqrt),
    getattr(torch, "sym_float", None): real,
    getattr(torch, "_sym_sqrt", None): _floats(e.sqrt),
}
"""Functions of Python on floats that are computed from symbolic sizes."""


@dataclass(slots=True)
class Walk:
    """The values of nodes so far."""

    symbols: Symbols
    title: str
    values: dict[Node, Any] = field(default_factory=dict)

    def input(self, node: Node, name: str) -> Array:
        """Declares the input for a placeholder that is a tensor."""
        val = node.meta["val"]
        shape = [self.symbols.form(s) for s in val.shape]
        array = te.input(name, shape, self.typed(node, lambda: type_name(val.dtype)))
        self.values[node] = of(array)
        return array

    def typed(self, node: Node, f: Callable[[], Any]) -> Any:
        """`f()`, an error placed at the node."""
        try:
            return f()
        except TangError as error:
            raise self.refused(node, error) from error

    def refused(self, node: Node, error: TangError) -> GraphError:
        """The error of an operator, with its name and the line of the model that calls it."""
        said = f"{error.what}" if error.where == "" or "torch_" in error.where else f"{error.what} ({error.where})"
        return GraphError(f"{name_of(node)}: {said}", where=f"{self.title}, {place_of(node)}", mend=error.mend)

    def value(self, x: Any) -> Any:
        """An argument with nodes replaced by their values."""
        if isinstance(x, torch.fx.Node):
            return self.values[x]
        if isinstance(x, (list, tuple)):
            return type(x)(self.value(v) for v in x) if type(x) in (list, tuple) else [self.value(v) for v in x]
        if isinstance(x, dict):
            return {k: self.value(v) for k, v in x.items()}
        return x

    def visit(self, node: Node) -> None:
        """Computes the value of a node. Raises GraphError where that cannot be."""
        self.values[node] = self.typed(node, lambda: self._computed(node))

    def _computed(self, node: Node) -> Any:
        target, val = node.target, node.meta.get("val")
        if isinstance(val, (int, torch.SymInt)) and not isinstance(val, bool):
            return self.symbols.form(val)
        if isinstance(val, (torch.SymBool, bool)):
            return None
        args, kwargs = self.value(node.args), self.value(node.kwargs)
        if target is operator.getitem:
            return args[0][args[1]]
        if getattr(target, "_opname", "") in IGNORED:
            return None
        if isinstance(val, torch.SymFloat):
            return self._python(target, args)
        rule = find(target)
        if rule is None:
            raise refusal("this operator is not supported", mend=_MEND)
        return self._checked(rule, node, args, kwargs)

    def _python(self, target: Any, args: Sequence[Any]) -> Expression:
        found = PYTHON.get(target)
        if found is None:
            raise refusal("a float that is computed from symbolic sizes", mend="fix the sizes, or compute it before")
        made: Expression = found(*args)
        return made

    def _checked(self, rule: Callable[..., Any], node: Node, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        out = self.out(node.meta.get("val"))
        positional, keywords = bound(node.target, args, kwargs)
        for v in _flat((positional, list(keywords.values()))):
            if isinstance(v, torch.Tensor):
                raise refusal("a tensor that is no input of the program", mend="export the program again")
        try:
            found = rule(out, *positional, **keywords)
        except TangError:
            raise
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, AssertionError, RecursionError) as error:
            said = " ".join(str(error).split())[:200]
            raise refusal(f"its arguments are not supported ({type(error).__name__}: {said})", mend=_MEND) from error
        if len(out.dtypes) == 1 and isinstance(found, Traced):
            return self._same(found, out, 0)
        return tuple(self._same(x, out, n) if isinstance(x, Traced) else x for n, x in enumerate(found))

    def _same(self, x: Traced, out: Out, n: int) -> Traced:
        """A result in the element type that PyTorch says. Raises GraphError where the shape differs."""
        if tuple(x.extents) != out.shapes[n]:
            raise refusal(f"its result has the shape {tuple(x.extents)} where PyTorch has {out.shapes[n]}", mend=_MEND)
        return converted(x, out.dtypes[n])

    def out(self, val: Any) -> Out:
        """Element types and shapes of what a node gives."""
        vals = list(val) if isinstance(val, (list, tuple)) else [val]
        dtypes, shapes = [], []
        for v in vals:
            if isinstance(v, torch.Tensor):
                if v.layout != torch.strided or v.is_quantized:
                    raise refusal(f"a tensor of layout {v.layout}", mend="use dense tensors")
                dtypes.append(type_name(v.dtype))
                shapes.append(tuple(self.symbols.form(s) for s in v.shape))
            else:
                dtypes.append("")
                shapes.append(())
        return Out(tuple(dtypes), tuple(shapes))


_MEND = "compile the rest by torch.compile(model, backend='tang_egg'), which runs such operators in PyTorch"


def _flat(x: Any) -> list[Any]:
    return [y for v in x for y in _flat(v)] if isinstance(x, (list, tuple)) else [x]


def name_of(node: Node) -> str:
    """What a node calls, in words: aten.add.Tensor."""
    target = node.target
    return str(target) if not callable(target) or hasattr(target, "_opname") else getattr(target, "__name__", "?")


def place_of(node: Node) -> str:
    """The module and line of the user's program that a node comes from, or its name in the graph."""
    stack = node.meta.get("nn_module_stack") or {}
    inner = [path for path, _ in list(stack.values())[-1:] if isinstance(path, str) and path]
    trace = node.meta.get("stack_trace") or ""
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File ")]
    said = [f"node '{node.name}'"]
    if inner:
        said.append(f"module '{inner[0].removeprefix('L__self___')}'")
    if lines:
        said.append(lines[-1].replace('"', "").split(", in ")[0].removeprefix("File ").replace(", line ", ":"))
    return ", ".join(said)


def shape_limits(shape_env: Any, ranges: Any = None) -> Callable[[Any], tuple[int, int | None]]:
    """A function from a symbol to its smallest and largest value, None where it has no limit."""

    def limits(symbol: Any) -> tuple[int, int | None]:
        found = (ranges or {}).get(symbol)
        if found is None and shape_env is not None:
            found = shape_env.var_to_range.get(symbol)
        if found is None:
            return 0, None
        return _whole(found.lower, 0) or 0, _whole(found.upper, None)

    return limits


def _whole(x: Any, default: int | None) -> int | None:
    if getattr(x, "is_Integer", False) or isinstance(x, int):
        return int(x) if abs(int(x)) < 2**62 else default
    return default


def distinct(names: Sequence[str]) -> dict[str, str]:
    """An identifier for each name, no two alike."""
    found: dict[str, str] = {}
    for name in names:
        stem = identifier(name) or "_"
        made, n = stem, 1
        while made in found.values():
            n += 1
            made = f"{stem}_{n}"
        found[name] = made
    return found


def as_tensor(x: Any, name: str | None = None) -> Array:
    """A value as a tensor over its logical axes: what a graph can give out."""
    if isinstance(x, (Affine, int, bool, float)):
        kind = "f32" if isinstance(x, float) else "bool" if isinstance(x, bool) else "i64"
        body = e.constant(x) if isinstance(x, (bool, float)) else e.value(affine(x))
        return te.tensor(name, (), body, kind)
    if isinstance(x, Expression):
        return te.tensor(name, (), x, "f32")
    assert isinstance(x, Traced)
    axes = tuple(Index("ijklmnopq"[p] if p < 9 else f"i{p}", s) for p, s in enumerate(x.extents))
    return te.tensor(name, axes, x.element(*axes), x.dtype, hint="out")
