"""C libraries that build and run without Python, from compiled graphs: `export_c` writes a folder with everything.

NAME.h, NAME.c, [NAME.weights | NAME_weights.c], example.c, Makefile, CMakeLists.txt, README.md, manifest.json
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.artefact_file import replacing
from tang_egg.artefact_model import version
from tang_egg.content import content_hash
from tang_egg.errors import ArtefactError, TargetError
from tang_egg.export_example import example_dims, example_text, expected, pattern_inputs
from tang_egg.export_files import KIND, cmake, makefile, manifest, readme
from tang_egg.export_header import header_text
from tang_egg.export_interface import Interface, interface, library_name
from tang_egg.export_source import source_text
from tang_egg.export_weights import embedded_source, weights_bytes
from tang_egg.files import umask
from tang_egg.pipeline_compiled import Compiled
from tang_egg.run import CompiledProgram
from tang_egg.run_arrays import Given
from tang_egg.text import print_graph

MANIFEST = "manifest.json"


def export_c(
    compiled: Compiled,
    folder: str | os.PathLike[str],
    *,
    name: str = "",
    embed: bool = False,
    force: bool = False,
    originals: Mapping[str, str] | None = None,
) -> Path:
    """Writes a compiled graph as a C library into a folder, and gives its path.

    Bound arrays become weights: in a file beside the library, or with `embed` in C source. `name` is the prefix of
    everything in C; by default it follows from the graph's. `originals`: what inputs and outputs are called elsewhere.

    The folder appears when all has been written. One that is there already is written into, file by file, if it is
    empty or was written by this function; another one only with `force`. Files of others are never deleted.
    Raises ArtefactError (name, folder), TargetError for a program that is not for this processor.
    """
    if not isinstance(compiled.runner, CompiledProgram):
        raise TargetError(
            f"a program for '{compiled.target}' is no C library",
            where=f"graph '{compiled.graph.name}'",
            mend="optimize the graph with target='c'",
        )
    given = {name: held.array for name, held in compiled.bound.items() if isinstance(held, Given)}
    runner = compiled.runner
    face = interface(name or library_name(compiled.graph.name), runner.program, runner.layout, given, originals)
    path = Path(folder)
    before = check_folder(path, force)
    write_folder(path, library_files(compiled, face, given, embed), before)
    return path


def library_files(
    compiled: Compiled, face: Interface, weights: Mapping[str, np.ndarray[Any, Any]], embed: bool
) -> dict[str, bytes | bytearray]:
    """The content of every file, by name."""
    graph, name = compiled.graph, face.name
    digest = content_hash(graph)
    embedded = embed and bool(face.weights)
    dims = example_dims(graph)
    numbers = {f.source.name: n for n, f in enumerate(face.inputs)}
    pattern = pattern_inputs(graph, numbers, dims)
    # By position: an input may have the name of a parameter of `run`.
    results = compiled.run(*(pattern[i.name] for i in graph.inputs if i.name not in compiled.bound), dims=dims)
    recorded = {t.name: expected(np.asarray(results[t.name]), t.dtype) for t in graph.outputs}
    laws = tuple(dict.fromkeys(s.law for s in compiled.derivation))
    texts = {
        f"{name}.h": header_text(face, digest, embedded),
        f"{name}.c": source_text(face, embedded),
        "example.c": example_text(face, embedded, dims, recorded, numbers),
        "Makefile": makefile(face, embedded),
        "CMakeLists.txt": cmake(face, embedded),
        "README.md": readme(face, embedded, laws, print_graph(graph)),
    }
    files: dict[str, bytes | bytearray] = {n: text.encode() for n, text in texts.items()}
    if embedded:
        files[f"{name}_weights.c"] = embedded_source(face, weights).encode()
    elif face.weights:
        files[f"{name}.weights"] = weights_bytes(face, weights, digest)
    hashes = {n: hashlib.sha256(content).hexdigest() for n, content in files.items()}
    steps = {k.name: compiled.derived.steps.get(k.name, ()) for k in compiled.program.kernels}
    errors = compiled.verification.errors if compiled.verification else None
    program_hash = content_hash(compiled.program)
    text = manifest(face, version(), digest, program_hash, hashes, steps, compiled.schedule, errors)
    files[MANIFEST] = text.encode()
    return files


def check_folder(path: Path, force: bool) -> Mapping[str, str]:
    """The files that an earlier call wrote into a folder and that are as it wrote them, with their hashes.

    Raises ArtefactError for a folder that holds something else.
    """
    if path.exists() and not path.is_dir():
        raise ArtefactError(f"'{path}' is no folder", where="the folder of the library", mend="give another path")
    if not path.exists() or not any(path.iterdir()):
        return {}
    known = _written(path)
    if known is None and not force:
        raise ArtefactError(
            f"the folder '{path}' holds files that are not those of a library",
            where="the folder of the library",
            mend="give an empty or a new folder; or --force to write beside and over them",
        )
    same = {n: h for n, h in (known or {}).items() if (path / n).is_file() and _hash(path / n) == h}
    changed = [n for n in known or {} if n not in same and (path / n).exists()]
    if changed and not force:
        raise ArtefactError(
            f"'{changed[0]}' was changed after it had been written",
            where=f"the folder '{path}'",
            mend="keep your version elsewhere, or give --force to write over it",
        )
    return same


def _written(path: Path) -> dict[str, str] | None:
    """The hashes in the manifest of a folder, or None where there is no manifest of ours."""
    try:
        said = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if said["kind"] != KIND:
            return None
        return {str(n): str(f["sha256"]) for n, f in said["files"].items() if Path(n).name == n}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_folder(path: Path, files: Mapping[str, bytes | bytearray], before: Mapping[str, str]) -> None:
    """A new folder appears whole; into one that is there each file is replaced, the manifest last.

    `before`: files of an earlier call; those that are not written again are deleted.
    Raises ArtefactError when something cannot be written.
    """
    try:
        if path.exists() and any(path.iterdir()):
            for name in sorted(files, key=lambda n: (n == MANIFEST, n)):
                with replacing(path / name) as file:
                    file.write(files[name])
            for name in set(before) - set(files):
                (path / name).unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            for name, content in files.items():
                (made / name).write_bytes(content)
            made.chmod(0o777 & ~umask())
            if path.exists():
                path.rmdir()
            os.replace(made, path)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise ArtefactError(
            f"cannot write the folder '{path}': {error.strerror or error}",
            where=str(error.filename or path),
            mend="give a folder that you may write to, on a disk that has room",
        ) from None
