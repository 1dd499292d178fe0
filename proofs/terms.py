"""Terms and facts of the table in Rocq, with the sorts of their variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from proofs.sexpr import Quoted, Tree
from proofs.sorts import (
    MONOIDS,
    OPERATIONS,
    SIGNATURES,
    Free,
    Of,
    Sort,
    SortError,
    Unifier,
    function,
    parse_sort,
    scalar,
)

_RESERVED = frozenset(
    "at as else end fix forall fun if in let match Prop return set Set size then Type where with".split()
)
_RENAMED = {"position": "is_position", "points": "counts_points", "reads": "reads_alike"}
"""Relations whose names stand for something else in Semantics.v."""
_SETS = {"set-union": "set_union", "set-diff": "set_diff", "set-intersect": "set_intersect", "set-remove": "set_remove"}
_INFINITE = {"inf": "PInf", "-inf": "NInf", "nan": "NaN"}


def identifier(name: str) -> str:
    """A variable of the table as one of Rocq."""
    plain = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return plain + "_" if plain in _RESERVED or plain[0].isdigit() else plain


def real(value: str) -> str:
    """A constant of the reals, exactly."""
    if value in _INFINITE:
        return _INFINITE[value]
    exact = Fraction(float(value))
    top = str(exact.numerator) if exact >= 0 else f"(- ({-exact.numerator}))"
    return f"(Fin {top})" if exact.denominator == 1 else f"(Fin ({top} / {exact.denominator}))"


@dataclass(slots=True)
class Translator:
    """One entry of the table: translating a tree twice gives its text, once all sorts are known.

    `demands`: relations whose facts claim nothing.
    """

    demands: frozenset[str]
    unifier: Unifier = field(default_factory=Unifier)
    variables: dict[str, Sort] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    bound: dict[str, Tree] = field(default_factory=dict)
    where: str = ""
    vectors: dict[str, Tree] = field(default_factory=dict)
    placed: dict[str, None] = field(default_factory=dict)
    opaque: dict[str, Sort] = field(default_factory=dict)
    also: list[str] = field(default_factory=list)
    _folds: str = ""

    def variable(self, name: str, sort: Sort) -> str:
        """A variable where something of that sort stands."""
        known = self.variables.setdefault(name, sort)
        self.unifier.unify(known, sort, f"{name}, {self.where}")
        return identifier(name)

    def kind(self, tree: Tree) -> Sort:
        """The sort of a variable, or "" for anything else."""
        return self.unifier.find(self.variables.get(tree, "")) if isinstance(tree, str) else ""

    def place(self, tree: Tree, sort: Sort) -> str:
        """What stands at a place of a constructor or a relation."""
        if isinstance(sort, Of) and sort.kind == "sc":
            return self.term(tree, sort.types[0])
        if sort == "kept":
            return self._kept(tree)
        if isinstance(tree, Quoted):
            return self._quoted(tree.text, sort)
        if isinstance(tree, tuple):
            return self.names(tree)
        if sort == "Z" and tree.lstrip("-").isdigit():
            return f"({tree})%Z"
        return self.variable(tree, sort)

    def _quoted(self, text: str, sort: Sort) -> str:
        if text in ("%h", "%d"):
            return {"%h": "HOLE", "%d": "DELTA"}[text]
        if isinstance(sort, Of) and sort.kind == "monoid":
            name, type = MONOIDS[text]
            self.unifier.unify(sort.types[0], type, self.where)
            return name
        if isinstance(sort, Of) and sort.kind == "fun":
            return self._operation(text, sort.types)
        raise SortError(f"the string '{text}' in {self.where}")

    def _kept(self, tree: Tree) -> str:
        if isinstance(tree, str) and tree not in self.bound and self.variables.get(tree, "kept") == "kept":
            return self.variable(tree, "kept")
        self._folds = "kept_"
        text = f"(fun kept_ => {self.term(tree, 'xr')})"
        self._folds = ""
        return text

    def term(self, tree: Tree, type: Sort) -> str:
        """A scalar of a type."""
        if isinstance(tree, str):
            if tree in self.bound:
                return self.term(self.bound[tree], type)
            if self.variables.get(tree) == "kept":
                self.unifier.unify("xr", type, self.where)
                return f"({identifier(tree)} {self._folds})"
            return self.variable(tree, scalar(type))
        if isinstance(tree, Quoted) or not tree or not isinstance(tree[0], str):
            raise SortError(f"{tree} is no term, in {self.where}")
        head, args = tree[0], list(tree[1:])
        if head in ("Ap1", "Ap2", "Ap3"):
            return self._application(args[0], args[1:], type)
        make = getattr(self, f"_{head.lower().replace('-', '_')}", None)
        if make is None:
            raise SortError(f"the constructor {head} has no meaning in Semantics.v, in {self.where}")
        return f"({make(type, *args)})"

    def _application(self, op: Tree, operands: Iterable[Tree], type: Sort) -> str:
        operands = tuple(operands)
        types: tuple[Sort, ...] = (*(self.unifier.fresh() for _ in operands), type)
        if isinstance(op, Quoted):
            name = self._operation(op.text, types)
        else:
            assert isinstance(op, str)
            name = self.variable(op, function(*types))
        listed = " ".join(self.term(x, t) for x, t in zip(operands, types, strict=False))
        text = f"(Ap{len(operands)} {name} {listed})"
        if name.startswith("op_"):
            self.opaque[text] = type
        return text

    def _operation(self, op: str, types: tuple[Sort, ...]) -> str:
        if op.partition(":")[0] == "select":
            self.unifier.unify(function(*types), function("bool", types[1], types[1], types[1]), op)
            return "select"
        if op in OPERATIONS:
            name, known = OPERATIONS[op]
            self.unifier.unify(function(*types), function(*known), f"{op}, {self.where}")
            return name
        return self.variable(f"op_{op}", function(*types))

    # Constructors: each gives its text and states what it knows of its type.

    def _lit(self, type: Sort, value: Tree, kind: Tree) -> str:
        known: dict[str, Sort] = {"real": "xr", "bool": "bool"}
        if isinstance(kind, Quoted):
            self.unifier.unify(type, known.get(kind.text, "int"), self.where)
        if isinstance(value, str):
            return f"Lit {self.variable(value, Of('value', (type,)))}"
        assert isinstance(value, Quoted) and isinstance(kind, Quoted)
        if kind.text == "bool":
            return f"Lit {value.text.lower()}"
        return f"Lit {real(value.text)}" if kind.text == "real" else f"Lit (of_Z ({value.text})%Z)"

    def _leaf(self, type: Sort, key: Tree) -> str:
        return f"Leaf {self.place(key, Of('closed', (type,)))}"

    def _gather(self, type: Sort, key: Tree, values: Tree) -> str:
        inner = self.unifier.fresh()
        name = self.place(key, function("position", inner, type))
        return f"Gather {name} {self._vector(values, inner)}"

    def _vector(self, values: Tree, inner: Sort) -> str:
        if isinstance(values, tuple) and values[0] == "vec-of":
            if len(values) != 2:
                raise SortError(f"a vector of {len(values) - 1} scalars in {self.where}")
            return self.term(values[1], inner)
        if isinstance(values, str) and values in self.vectors:
            return self.term(self.vectors[values], inner)
        return f"(Leaf {self.place(values, Of('closed', (inner,)))})"

    def _red(self, type: Sort, monoid: Tree, j: Tree, where: Tree, body: Tree) -> str:
        m = self.place(monoid, Of("monoid", (type,)))
        return f"Red {m} {self.place(j, 'index')} {self.term(where, 'bool')} {self.term(body, type)}"

    def _keyed(self, key: Tree, part: Tree, values: Tree, type: Sort) -> tuple[str, str, str]:
        inner = self.unifier.fresh()
        assert isinstance(key, str) and isinstance(part, str)
        k = self.place(key, Of("keyed", (inner,)))
        self.keys[part] = k
        return k, self.place(part, Of("part", (type,))), self.place(values, Of("closed", (inner,)))

    def _fold(self, type: Sort, key: Tree, part: Tree, js: Tree, where: Tree, values: Tree) -> str:
        k, p, v = self._keyed(key, part, values, type)
        return f"Fold {k} {p} {self.place(js, 'indices')} {self.term(where, 'bool')} {v}"

    def _scn(self, type: Sort, key: Tree, part: Tree, t: Tree, chunk: Tree, values: Tree) -> str:
        k, p, v = self._keyed(key, part, values, type)
        return f"Scn {k} {p} {self.place(t, 'index')} {self.place(chunk, 'Z')} {v}"

    def _let(self, type: Sort, key: Tree, body: Tree) -> str:
        return f"Let {self.place(key, 'view')} {self.term(body, type)}"

    def _at(self, type: Sort, j: Tree, value: Tree, body: Tree) -> str:
        index, at = self.place(j, "index"), self.term(value, "int")
        self.placed[f"placed {index} {at}"] = None
        return f"At {index} {at} {self.term(body, type)}"

    def _casc(self, type: Sort, monoid: Tree, j: Tree, where: Tree, body: Tree, carried: Tree) -> str:
        self.unifier.unify(type, "xr", self.where)
        m = self.place(monoid, Of("monoid", ("xr",)))
        listed = f"{self.term(where, 'bool')} {self.term(body, 'xr')} {self._kept(carried)}"
        return f"Casc {m} {self.place(j, 'index')} {listed}"

    def _hole(self, type: Sort, statistic: Tree) -> str:
        self.unifier.unify(type, "xr", self.where)
        return f"Hole {self.term(statistic, 'xr')}"

    def _delta(self, type: Sort, statistic: Tree) -> str:
        self.unifier.unify(type, "xr", self.where)
        return f"Delta {self.term(statistic, 'xr')}"

    def _keep(self, type: Sort, body: Tree) -> str:
        self.unifier.unify(type, "xr", self.where)
        return f"Keep {self._folds or self.variable('folds', 'folds')} {self.term(body, 'xr')}"

    def _total(self, type: Sort, body: Tree, j: Tree) -> str:
        self.unifier.unify(type, "xr", self.where)
        return f"Total {self._folds} {self.term(body, 'xr')} {self.place(j, 'index')}"

    # Facts.

    def names(self, tree: Tree) -> str:
        """A set of names."""
        if isinstance(tree, Quoted):
            return self._quoted(tree.text, "index")
        if isinstance(tree, str):
            return self.variable(tree, "names")
        head, *args = tree
        if head == "fv":
            assert isinstance(args[0], str)
            name = self.variable(f"fv_{args[0]}", "names")
            self.also.append(f"depends {self.term(args[0], self.unifier.fresh())} {name}")
            return name
        if head == "set-empty":
            return "set_empty"
        if head == "set-of":
            return f"(set_of [{'; '.join(self.place(a, 'index') for a in args)}])"
        if head == "set-remove":
            return f"(set_remove {self.names(args[0])} {self.place(args[1], 'index')})"
        return f"({_SETS[str(head)]} {self.names(args[0])} {self.names(args[1])})"

    def depends(self, x: Tree, found: Tree) -> str:
        """What `fv` of a term says."""
        f = self.names(found)
        if isinstance(x, str) and self.variables.get(x) == "kept":
            return ""  # whatever its folds are: no theorem needs so much
        return f"depends {self.term(x, self.unifier.fresh())} {f}"

    def fact(self, tree: Tree) -> str:
        """A premise or conclusion; "" for what says nothing about values."""
        assert isinstance(tree, tuple) and isinstance(tree[0], str), tree
        head, args = tree[0], list(tree[1:])
        if head == "=":
            return self._equation(args[0], args[1])
        if head == "!=":
            return self._different(args[0], args[1])
        if head == "union":
            return self._equation(args[0], args[1])
        if head == "set":
            assert isinstance(args[0], tuple)
            return self.depends(args[0][1], args[1])
        if head in ("edge", "set-contains", "subsume"):
            return ""
        if head == "set-not-contains":
            return f"{self.names(args[0])} {self.place(args[1], 'index')} = false"
        return self.relation(head, args)

    def relation(self, name: str, args: list[Tree]) -> str:
        """A fact of a relation; "" for a demand."""
        letters: dict[str, Free] = {}
        signature = SIGNATURES.get(name)
        if name in self.demands and signature is None:
            return ""
        if signature is None or len(signature) != len(args):
            raise SortError(f"the relation {name} of {len(args)} places has no signature in proofs/sorts.py")
        sorts = [parse_sort(s, letters, self.unifier) for s in signature]
        listed = " ".join(self.place(a, s) for a, s in zip(args, sorts, strict=True))
        return "" if name in self.demands else f"{_RENAMED.get(name, name)} {listed}"

    def _equation(self, a: Tree, b: Tree) -> str:
        if isinstance(b, tuple) and b[0] in ("vec-length", "vec-get"):
            return ""  # a vector of one scalar, which stands for it
        if isinstance(b, tuple) and b[0] == "fv":
            return self.depends(b[1], a)
        if isinstance(a, tuple) and str(a[0]).startswith("set-"):
            return self._same_names(a, b)
        if isinstance(b, tuple) and str(b[0]).startswith("set-"):
            return self._same_names(a, b)
        for side in (a, b):
            if isinstance(side, tuple) and side[0] == "Total":
                return f"kept_eqv {self.place(side[2], 'index')} {self._kept(a)} {self._kept(b)}"
        type = self.unifier.fresh()
        return f"eqv {self.term(a, type)} {self.term(b, type)}"

    def _same_names(self, a: Tree, b: Tree) -> str:
        return f"(forall i, {self.names(a)} i = {self.names(b)} i)"

    def _different(self, a: Tree, b: Tree) -> str:
        for one, other in ((a, b), (b, a)):
            kind = self.kind(one)
            if kind == "index":
                return f"{self.place(one, kind)} <> {self.place(other, kind)}"
            if isinstance(kind, Of) and kind.kind == "value" and isinstance(other, Quoted):
                return f"{identifier(str(one))} <> {real(other.text)}"
        return ""
