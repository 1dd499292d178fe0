"""Runs the blocks of a Markdown document: its Python as doctests in one namespace, its shell lines in one folder.

    ```python with >>>      a doctest; ```python without: executed as it stands
    ```console with $       a shell line and what it prints, standard error included
    <!-- file: NAME -->     before a block of any language: the block is written to NAME in the folder of the run

A printed line may be shortened: … stands for anything, also for lines left out. Times, errors of the form 1.2e-07 and
spaces are not compared. Other blocks are prose.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.tree import ROOT, project

_BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_LIMIT = 300.0
"""Seconds that one shell line may take."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the line of its first line, and the file that it becomes."""

    language: str
    text: str
    line: int
    file: str = ""


def blocks(document: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, in order."""
    for found in _BLOCK.finditer(document):
        line = document.count("\n", 0, found.start("text")) + 1
        yield Block(found["language"], found["text"], line, found["file"] or "")


def steady(text: str) -> str:
    """A text without what differs between runs and machines: times, small errors, spaces, empty lines."""
    text = re.sub(r"(?<![\w.])\d[\d.]*( ?[mµn]?s)\b", "#", text)
    text = re.sub(r"\b\d[\d.]*e-\d+", "#", text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return "\n".join(line for line in lines if line)


def agree(want: str, got: str) -> bool:
    """Whether a text is what a document shows, up to what is not compared."""
    parts = [re.escape(part.strip()) for part in steady(want).split("…")]
    return re.fullmatch(r"\s*" + r".*?".join(parts) + r"\s*", steady(got), re.DOTALL) is not None


class Differs(AssertionError):
    """A block printed something other than the document shows."""


@dataclass(slots=True)
class Runner:
    """Runs the blocks of one document in a folder of their own."""

    document: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "document"})
    ran: int = 0

    def run(self) -> Runner:
        """Runs every block. Raises Differs at the first that prints something else."""
        with contextlib.chdir(self.folder):
            for block in blocks(self.document.read_text(encoding="utf-8")):
                if block.file:
                    (self.folder / block.file).write_text(block.text, encoding="utf-8")
                if block.language == "python" and not block.file:
                    self._python(block)
                elif block.language == "console":
                    self._console(block)
        return self

    def _place(self, block: Block, line: int) -> str:
        return f"{self.document.name}:{block.line + line}"

    def _compare(self, at: str, source: str, want: str, got: str) -> None:
        self.ran += 1
        if not agree(want, got):
            raise Differs(f"{at}: {source.strip()}\n── shown\n{want.rstrip()}\n── printed\n{got.rstrip()}")

    def _python(self, block: Block) -> None:
        examples = doctest.DocTestParser().get_examples(block.text, self.document.name)
        if not examples:
            place = f"{self.document.name}:{block.line}"
            padded = "\n" * (block.line - 1) + block.text
            exec(compile(padded, place.partition(":")[0], "exec"), self.names)
            self.ran += 1
        for e in examples:
            name = f"{self.document.name}"
            source = "\n" * (block.line + e.lineno - 1) + e.source
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                try:
                    exec(compile(source, name, "single"), self.names)
                except Exception as error:
                    if e.exc_msg is None:
                        raise
                    printed = io.StringIO("".join(traceback.format_exception_only(error)))
            self._compare(self._place(block, e.lineno), e.source, e.exc_msg or e.want, printed.getvalue())

    def _console(self, block: Block) -> None:
        commands: list[tuple[int, str, list[str]]] = []
        for n, line in enumerate(block.text.splitlines()):
            if line.startswith("$ "):
                commands.append((n, line[2:], []))
            else:
                assert commands, f"{self._place(block, n)}: a console block starts with a line '$ command'"
                commands[-1][2].append(line)
        for n, command, shown in commands:
            done = subprocess.run(
                command, shell=True, cwd=self.folder, env=_environment(self.folder), timeout=_LIMIT,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
            )  # fmt: skip
            got = done.stdout + (f"exit code {done.returncode}\n" if done.returncode else "")
            self._compare(self._place(block, n), command, "\n".join(shown), got)


def _environment(folder: Path) -> dict[str, str]:
    """The caller's environment, with the tree's own commands before all others."""
    commands = folder / ".commands"
    commands.mkdir(exist_ok=True)
    for name, entry in project()["project"]["scripts"].items():
        module, _, function = entry.partition(":")
        code = f"import sys; from {module} import {function}; sys.argv[0] = {name!r}; sys.exit({function}())"
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n')
        script.chmod(0o755)
    path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
