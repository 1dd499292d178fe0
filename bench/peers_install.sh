#!/usr/bin/env bash
# Installs peers on a machine without a network, from what arrives in one or more folders. Needs bash and Python with pip.
#   bench/peers_install.sh FOLDER... TARGET
#       FOLDER holds wheels, archives NAME.tar.xz of an installed folder, and parts of either, named NAME.1of2, NAME.2of2.
#       Call it once for each folder that arrives: TARGET.parts keeps what came before. As soon as no part is missing,
#       all is installed into TARGET at once (wheels may share a folder). SHA256SUMS in a FOLDER is checked.
#   bench/peers_install.sh --split FILE FOLDER...
#       Cuts FILE into as many parts as there are folders, one into each.
# Read TARGET by site.addsitedir, not by PYTHONPATH: it may hold a .pth file. `python -m bench cuda --peers TARGET` does.
#   PYTHON=python3.12   the interpreter to install for (default: python3)
set -euo pipefail
shopt -s nullglob
python="${PYTHON:-python3}"

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

cut_file() {
    local file="$1" n=0
    shift
    for folder in "$@"; do
        n=$((n + 1))
        mkdir -p "$folder"
        split -n "$n/$#" "$file" >"$folder/$(basename "$file").${n}of$#"
    done
    (cd "$(dirname "$file")" && sha256sum "$(basename "$file")") >>"$1/SHA256SUMS"
}

if [ "${1:-}" = --split ]; then
    shift
    (($# >= 2)) || usage
    cut_file "$@"
    exit
fi
(($# >= 2)) || usage

target="${*: -1}"
kept="$target.parts"
mkdir -p "$kept"
for folder in "${@:1:$#-1}"; do
    [ -d "$folder" ] || { echo "no folder $folder" >&2; exit 1; }
    files=("$folder"/*.whl "$folder"/*.tar.xz "$folder"/*.*of*)
    ((${#files[@]} == 0)) || cp "${files[@]}" "$kept"/
    [ ! -f "$folder/SHA256SUMS" ] || cat "$folder/SHA256SUMS" >>"$kept/SHA256SUMS"
done

missing=0
for part in "$kept"/*.*of*; do
    [ -f "$part" ] || continue # joined meanwhile
    name="${part%.*of*}"
    count="${part##*of}"
    parts=()
    for ((n = 1; n <= count; n++)); do
        parts+=("$name.${n}of$count")
        [ -f "${parts[-1]}" ] || { echo "waiting for part $n of $count of $(basename "$name")"; missing=1; continue 2; }
    done
    cat "${parts[@]}" >"$name"
    rm "${parts[@]}"
done
((missing == 0)) || exit 0

if [ -f "$kept/SHA256SUMS" ]; then
    (cd "$kept" && sort -u SHA256SUMS | sha256sum --check --quiet --ignore-missing)
fi
wheels=("$kept"/*.whl)
if ((${#wheels[@]} > 0)); then
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --disable-pip-version-check \
        --upgrade --target "$target" "${wheels[@]}"
fi
mkdir -p "$target"
for archive in "$kept"/*.tar.xz; do
    # Python before 3.11.4 has no filters
    "$python" -c 'import sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
    archive.extractall(sys.argv[2])' "$archive" "$target"
done
echo "installed into $target: $(cd "$kept" && printf '%s ' *.whl *.tar.xz)"
