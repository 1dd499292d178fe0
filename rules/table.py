"""All laws, by family, and the order in which saturation runs them."""

from __future__ import annotations

from tang_egg.errors import LawError
from tang_egg.rules import cascade, domain, fold, gather, precision, scalar, scan, sharding, sibling, view
from tang_egg.rules.law import Closure, Entry, Law, Relation, Seed, Table

FAMILIES: tuple[Table, ...] = tuple(
    m.table for m in (view, scalar, domain, fold, sibling, cascade, scan, gather, precision, sharding)
)

_SHARED = ("finished", "clean", "indexed", "replaces", "edge")
"""Relations of the e-graph's own schema."""


def entries() -> dict[str, Entry]:
    """Every law, closure and seed by name. Raises LawError when two share a name."""
    found: dict[str, Entry] = {}
    for family in FAMILIES:
        for entry in family.entries:
            if entry.name in found:
                raise LawError(
                    f"two laws are named '{entry.name}'",
                    where=f"rules/{family.family}.py",
                    mend="give each law its own name",
                )
            found[entry.name] = entry
    return found


def stands(name: str, values: str = "finite") -> bool:
    """Whether the table has an entry of that name that holds on `values`: what acts on it elsewhere asks here."""
    found = next((e for family in FAMILIES for e in family.entries if e.name == name), None)
    return found is not None and (values != "ieee" or getattr(found, "holds", "ieee") == "ieee")


def equalities() -> dict[str, Law | Seed]:
    """The entries that say two terms are equal."""
    return {n: e for n, e in entries().items() if not isinstance(e, Closure)} | {
        "scan.chunk": Seed("scan.chunk", "scan[m, t](x) = scan[m, t](x, chunk=n)", "ieee", "reassociates", "Scan.chunk")
    }


def relations() -> tuple[Relation, ...]:
    """Every relation with the proposition that its facts stand for."""
    return tuple(r for family in FAMILIES for r in family.relations if r.name not in _SHARED)


def rules_text(values: str = "finite") -> str:
    """The table as egglog text: relations, then rules. With values="ieee", without laws that need finite values."""
    lines = [r.egg() for r in relations()]
    for family in FAMILIES:
        for e in family.entries:
            if isinstance(e, Closure) or (isinstance(e, Law) and (values == "finite" or e.holds == "ieee")):
                lines.append(e.egg())
    return "\n".join(lines)


PHASES: tuple[tuple[str, ...], ...] = (
    ("analysis", "simplify"),
    ("analysis", "views"),
    ("analysis", "simplify"),
    ("analysis", "hoist", "simplify"),
    ("simplify",),
    ("analysis", "walk"),
    ("analysis", "carry"),
    ("simplify",),
    ("analysis", "hoist", "simplify"),
    ("analysis", "carry"),
    ("simplify", "analysis"),
    ("cascade",),
    ("analysis",),
)
"""One round of saturation: in each step the rulesets run in turn until none changes anything."""
