#!/bin/bash
# Fills a folder with all that the set-up downloads and compiles, for machines without a network.
#
#   scripts/make_cache.sh FOLDER          everything; on a machine that is set up and has a network
#   scripts/make_cache.sh FOLDER --demo   only what `make demo` needs
#
# There, scripts/setup.sh --cache FOLDER (or make demo CACHE=FOLDER) takes what it needs from the
# folder: the distribution's packages and Python's wheels, if the distribution and its Python are of
# the same release, and the kernels, if the processor is of the same model; otherwise it compiles them.

set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help | "") sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
export LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { echo "[cache] $*"; }
fail() { echo "[cache] $*" >&2; exit 1; }

folder=$(cd "$here" && mkdir -p "$1" && cd "$1" && pwd -P)
end='$'
wanted=(-r requirements.txt -r requirements-slam.txt -r requirements-dev.txt -r requirements-learn.txt)
case "${2:-}" in
    --demo) end='/^# Beyond flights/'; wanted=(-c requirements.txt setuptools .) ;;
    "") ;;
    *) fail "unknown option '$2': only --demo is allowed" ;;
esac
[ -x .venv/bin/python ] || fail "set this machine up first: scripts/setup.sh"

say "wheels"
mkdir -p "$folder/wheels"
.venv/bin/python -m pip wheel -q --no-build-isolation -w "$folder/wheels" "${wanted[@]}"
rm -f "$folder"/wheels/xtdrone-*.whl  # the checkout is installed, not a copy of it

# The packages as for a machine that has none, and an index of them for apt.
if command -v apt-get >/dev/null; then
    say "packages of the distribution"
    mkdir -p "$folder/debs/partial"
    names=()
    while read -r alternatives; do
        for name in ${alternatives//|/ }; do
            if apt-cache show "$name" >/dev/null 2>&1; then names+=("$name"); break; fi
        done
    done < <(echo python3-venv; sed -n "1,${end}{/^[^#]/p}" scripts/apt-packages.txt)
    apt-get -qq -y -o Dir::State::status=/dev/null -o Dir::Cache::archives="$folder/debs" \
        -o Debug::NoLocking=1 --no-install-recommends --download-only install "${names[@]}" \
        || fail "apt-get failed: run apt-get update first"
    rm -rf "$folder/debs/partial"
    (
        cd "$folder/debs"
        for deb in *.deb; do
            dpkg-deb -f "$deb"
            printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' \
                "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d ' ' -f 1)"
        done >Packages
    )
fi

say "kernels"
kernels="${XDG_CACHE_HOME:-$HOME/.cache}/xtdrone/kernels"
rm -rf "$folder/kernels"
mkdir -p "$folder/kernels"
# Not the notes that all are there, which another processor may not use.
find "$kernels" -mindepth 1 -maxdepth 1 -type d -exec cp -rt "$folder/kernels" {} +

say "$(du -sh "$folder" | cut -f 1) in $folder"
