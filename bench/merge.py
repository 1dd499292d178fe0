"""`python -m bench merge FILE...`: rows of logs from other machines that bench/log.jsonl lacks are added to it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import log


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench merge", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--log", type=Path, default=log.FILE, metavar="FILE", help="(default: bench/log.jsonl)")
    given = parser.parse_args(arguments)
    absent = [f for f in given.files if not f.is_file()]
    if absent:
        print(f"no file {absent[0]}", file=sys.stderr)
        return 1
    for file in given.files:
        lines = sum(bool(line.strip()) for line in file.read_text(encoding="utf-8").splitlines())
        if cut := lines - len(log.read(file)):
            print(f"{file}: {cut} lines are no rows and are left out")
    print(f"{log.merge(given.files, given.log)} rows added to {given.log}")
    return 0
