"""`python -m proofs.check`: the statements are those of the table, every proof compiles, and nothing else is assumed.

Exit codes: 0 all is proved, 1 something is not, 2 Rocq is missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from proofs.generate import FILES, FOLDER, statements, unstated

STANDARD = ("Rplus_comm", "exp_increasing", "ln_exp", "sqrt_lt_R0")
"""Theorems of the standard library on the reals: what they rest on (classical logic and extensionality of functions
among it) is what proofs may rest on."""

_THEOREM = re.compile(r"^\s*(?:Theorem|Lemma|Corollary|Definition)\s+(\w+)", re.MULTILINE)
_SECTION = re.compile(r"^\s*(Section|End|Variables?|Hypothes[ie]s|Context)\b", re.MULTILINE)
_FORBIDDEN = re.compile(r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Abort)\b")


def code(path: Path) -> str:
    """A source without its comments."""
    text = path.read_text()
    while True:
        shorter = re.sub(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", "", text, flags=re.DOTALL)
        if shorter == text:
            return text
        text = shorter


def missing() -> list[str]:
    """Entries without a theorem of the name that they give, or without a statement."""
    known: dict[str, set[str]] = {}
    found = [f"{n}: {why}" for n, why in unstated().items()]
    for s in statements():
        module, _, theorem = s.proof.partition(".")
        path = FOLDER / f"{module}.v"
        if module not in known:
            known[module] = set(_THEOREM.findall(code(path))) if path.exists() else set()
        if theorem not in known[module]:
            found.append(f"{s.name}: no theorem '{theorem}' in proofs/{module}.v")
    return found


def drifted() -> list[str]:
    """Files that are not what the generator writes."""
    return [n for n, text in FILES.items() if not (FOLDER / n).exists() or (FOLDER / n).read_text() != text()]


def assumed_in_sources() -> list[str]:
    """Places where a source assumes what it should prove: axioms, and variables outside of sections."""
    found: list[str] = []
    for path in sorted(FOLDER.rglob("*.v")):
        text, depth = code(path), 0
        found += [f"{path.relative_to(FOLDER)}: {word}" for word in _FORBIDDEN.findall(text)]
        for word in _SECTION.findall(text):
            depth += {"Section": 1, "End": -1}.get(word, 0)
            if depth < 1 and word not in ("Section", "End"):
                found.append(f"{path.relative_to(FOLDER)}: {word} outside of sections")
    return found


def compile_all(jobs: int = 2) -> str:
    """Compiles all proofs; the end of what was printed where that fails, or nothing."""
    done = subprocess.run(["make", "-C", str(FOLDER), f"-j{jobs}"], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:]


def _axioms(printed: str) -> frozenset[str]:
    return frozenset(m for part in printed.split("Axioms:")[1:] for m in re.findall(r"^([\w.]+)\s*(?=:|$)", part, re.M))


def assumptions() -> frozenset[str]:
    """The axioms on which all theorems of the table rest, from Check.v (compiled once more for what it prints)."""
    command = ["coqc", "-R", ".", "TangEgg", "Check.v"]
    return _axioms(subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True).stdout)


def allowed() -> frozenset[str]:
    """The axioms of the standard library's real numbers."""
    with tempfile.TemporaryDirectory() as folder:
        lines = ["From Coq Require Import Reals.", *(f"Print Assumptions {t}." for t in STANDARD)]
        (Path(folder) / "Standard.v").write_text("\n".join(lines))
        done = subprocess.run(["coqc", "Standard.v"], cwd=folder, capture_output=True, text=True, check=True)
        return _axioms(done.stdout)


def has_rocq() -> bool:
    """Whether the programs that check proofs are there."""
    return shutil.which("coqc") is not None and shutil.which("coq_makefile") is not None


def main() -> int:
    """Says what is wrong, or that all is proved."""
    wrong = [
        *missing(),
        *(f"{n} is not what `python -m proofs.generate` writes" for n in drifted()),
        *assumed_in_sources(),
    ]
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    if not has_rocq():
        print("Rocq is missing: apt-get install coq libcoq-coquelicot", file=sys.stderr)
        return 2
    failed = compile_all(os.cpu_count() or 2)
    if failed:
        print(failed, file=sys.stderr)
        return 1
    others = assumptions() - allowed()
    if others:
        print(f"axioms beyond those of the real numbers: {', '.join(sorted(others))}", file=sys.stderr)
        return 1
    print(f"{len(statements())} statements of the table are proved")
    return 0


if __name__ == "__main__":
    sys.exit(main())
