"""What a doctor finds, and how things are installed on the machine at hand."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

VERDICTS = {True: "PASS", False: "FAIL", None: "----"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one target or part.

    `passed` is None for what is not here, or works with a drawback; that fails nothing. `facts` are
    further names and values. `mend` says what to run, where something can be done.
    """

    target: str
    passed: bool | None
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    mend: str = ""
    kind: str = "target"

    def data(self) -> dict[str, object]:
        """The same as plain data; the verdict is pass, fail or none."""
        verdict = {True: "pass", False: "fail", None: "none"}[self.passed]
        facts = dict(self.facts)
        return {
            "kind": self.kind, "name": self.target, "verdict": verdict, "text": self.text, "mend": self.mend,
            "facts": facts,
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [*self.text.splitlines(), *([f"  mend:  {self.mend}"] if self.mend else [])]
        lines += [f"  {name}: {value}" for name, value in self.facts]
        first, *rest = lines
        return "\n".join((f"{VERDICTS[self.passed]}  {self.target:12}{first}", *(f"{'':18}{line}" for line in rest)))


_MANAGERS: tuple[tuple[str, str], ...] = (
    ("apt-get", "apt-get install -y gcc libc6-dev"),
    ("dnf", "dnf install -y gcc"),
    ("yum", "yum install -y gcc"),
    ("zypper", "zypper install -y gcc"),
    ("pacman", "pacman -S --needed gcc"),
    ("apk", "apk add gcc musl-dev"),
)


def compiler_command() -> str:
    """The command that installs a C compiler on this system, and the one that needs no rights."""
    wheel = pip("ziglang")
    unset = "unset TANG_CC, or " if os.environ.get("TANG_CC") else ""
    if platform.system() == "Darwin":
        return f"{unset}xcode-select --install; or {wheel}"
    for tool, command in _MANAGERS:
        if shutil.which(tool):
            return f"{unset}{command if _is_root() else f'sudo {command}'}; or, without rights, {wheel}"
    return unset + wheel


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def pip(*packages: str) -> str:
    """The command that installs packages for the Python that runs this."""
    words = [sys.executable, "-m", "pip", "install", *packages]
    if importlib.util.find_spec("pip") is None:
        words = ["uv", "pip", "install", "--python", sys.executable, *packages] if shutil.which("uv") else words
    return shlex.join(words)


def extra(name: str) -> tuple[str, ...]:
    """The requirements that an extra of this package stands for, as its own metadata lists them."""
    try:
        listed = metadata.requires("tang_egg") or []
    except metadata.PackageNotFoundError:
        listed = []
    marked = re.compile(rf"""(.*?)\s*;.*\bextra\s*==\s*['"]{re.escape(name)}['"]""")
    found = tuple(m[1] for line in listed if (m := marked.fullmatch(line.rstrip(" )"))))
    return found or (f"tang_egg[{name}]",)


def version(package: str) -> str:
    """The version of an installed distribution, or empty."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def versions_of(packages: Sequence[str]) -> str:
    """Distributions with their versions, those that are installed."""
    return ", ".join(f"{p} {version(p)}" for p in packages if version(p))
