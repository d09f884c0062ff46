#!/bin/bash
# A newcomer's first hour, in a bare root of Debian or Ubuntu that debootstrap makes: set-up, doctor,
# demo, every code block of README.md and docs/, and the mistakes of test_slips.py. Ends with a table
# and a non-zero status where one failed. Needs root, debootstrap, 8 GB of disk and a network.
#
#   tests/first_hour/first_hour.sh                       Debian 12, from the mirror that apt uses here
#   tests/first_hour/first_hour.sh jammy MIRROR KEYRING  Ubuntu 22.04, main and universe
#   tests/first_hour/first_hour.sh --keep ...            the root stays, below /var/tmp/xtdrone-first-hour
#   tests/first_hour/first_hour.sh --demo ...            only `make demo`, with what it sets up, and sizes
#   tests/first_hour/first_hour.sh --cache FOLDER ...    set up without the network, from what `make cache` kept
#
# The packages of the bare root, and what the set-up adds, go into tests/data/system_packages. Only
# the set-up has the network; all else runs in a network namespace of its own, and with --cache the
# set-up, too, but for the package make.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-}" in -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
keep=0 demo=0
if [ "${1:-}" = --keep ]; then keep=1; shift; fi
if [ "${1:-}" = --demo ]; then demo=1; shift; fi
cache='' set_up_by=host
if [ "${1:-}" = --cache ]; then
    cache=$(cd "$2" && pwd -P) set_up_by=none
    shift 2
fi
release=${1:-bookworm}
mirror=${2:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    awk '/\/debian\/?$/ { print; exit }')}
keyring=(${3:+--keyring="$3"})
base=${FIRST_HOUR:-/var/tmp/xtdrone-first-hour}
root=$base/$release
home=/root/xtdrone
results=$base/$release.results

# in_root NETWORK COMMAND: runs a command in the root, in the checkout; NETWORK is host or none.
in_root() {
    local flags=(-m -p -f --mount-proc --kill-child)
    [ "$1" = host ] || flags+=(-n)
    ROOT=$root HOME_OF=$home NETWORK=$1 COMMAND=$2 CACHE=$cache unshare "${flags[@]}" bash -c '
        mount --rbind /dev "$ROOT/dev"
        mount -t tmpfs tmpfs "$ROOT/dev/shm"
        mount -t proc proc "$ROOT/proc"
        mount -t sysfs sysfs "$ROOT/sys" 2>/dev/null || mount --rbind /sys "$ROOT/sys"
        [ "$NETWORK" = host ] || ip link set lo up
        [ -z "$CACHE" ] || { mkdir -p "$ROOT/media/cache"; mount --bind "$CACHE" "$ROOT/media/cache"; }
        exec chroot "$ROOT" env -i HOME=/root TERM=xterm LANG=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            bash -c "mkdir -p $HOME_OF && cd $HOME_OF && $COMMAND"'
}

# size NAME: notes how large the root is.
size() { printf '%-12s %6d MB\n' "$1" "$(du -smx "$root" | cut -f 1)" >>"$results"; }

# step NAME COMMAND...: runs it with a log of its own, and notes its time and status.
step() {
    local name=$1 begin=$SECONDS status=0
    shift
    echo "[first hour] $name (log: $base/$release.$name.log)"
    "$@" >"$base/$release.$name.log" 2>&1 </dev/null || status=$?
    printf '%-12s %6d s   status %d\n' "$name" $((SECONDS - begin)) "$status" >>"$results"
    [ "$status" -eq 0 ]
}

packages() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package}\n' | sort; }

bare_root() {
    rm -rf --one-file-system "$root"
    debootstrap --variant=minbase --components="$components" "${keyring[@]}" \
        "$release" "$root" "$mirror" || return
    packages >"$base/$release.bare"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    printf '127.0.0.1\tlocalhost\n' >"$root/etc/hosts"  # as installers and container engines do
    # pip trusts whom this machine trusts.
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        cp /etc/ssl/certs/ca-certificates.crt "$root/etc/pip-trust.crt"
        printf '[global]\ncert = /etc/pip-trust.crt\n' >"$root/etc/pip.conf"
    fi
}

# Tracked files, and those that are new: what a clone would hold.
checkout() {
    mkdir -p "$root$home"
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' name; do [ ! -e "$name" ] || printf '%s\0' "$name"; done |
        tar --null -T - -c | tar -x --no-same-owner -C "$root$home"
}

record() {
    local name
    name=$(. "$root/etc/os-release"; echo "$ID-$VERSION_ID")
    {
        echo "# $(. "$root/etc/os-release"; echo "$PRETTY_NAME"), $(dpkg --print-architecture), on" \
            "$(date +%-d\ %B\ %Y), $components of the distribution's own mirror."
        echo "# Written by tests/first_hour/first_hour.sh."
        echo "[bare]  # debootstrap --variant=minbase, of which the images for containers are made"
        cat "$base/$release.bare"
        echo "[set-up]  # what scripts/setup.sh adds with apt-get --no-install-recommends"
        comm -13 "$base/$release.before" <(packages)
    } >"tests/data/system_packages/$name.txt"
}

if ! command -v debootstrap >/dev/null; then
    echo "first_hour.sh: debootstrap is not installed: apt-get install debootstrap" >&2
    exit 1
fi
components=main
[ "$release" = bookworm ] || components=main,universe
from=${cache:+ CACHE=/media/cache}
mkdir -p "$base"
: >"$results"
failed=0
step bare-root bare_root || { tail -n 3 "$base/$release.bare-root.log"; exit 1; }
checkout
step make in_root host "apt-get -q update && apt-get -q install -y --no-install-recommends make" ||
    exit 1
if [ "$demo" = 1 ]; then
    size bare
    step set-up in_root $set_up_by "make setup-demo$from" || { tail -n 3 "$base/$release.set-up.log"; exit 1; }
    in_root none "rm -rf /root/.cache/pip; apt-get clean"
    size set-up
    step again in_root none "make setup-demo$from" || failed=1
    step demo in_root none "make demo" || failed=1
else
    packages >"$base/$release.before"
    step set-up in_root $set_up_by "make setup$from" || { tail -n 3 "$base/$release.set-up.log"; exit 1; }
    record
    step doctor in_root none ". scripts/env.sh && xtdrone doctor" || failed=1
    step demo in_root none "make demo" || failed=1
    step pages in_root none ". scripts/env.sh && pytest -q tests/integration/test_documentation.py" ||
        failed=1
    step commands in_root none ". scripts/env.sh && python tests/first_hour/walk.py" || failed=1
    step slips in_root none ". scripts/env.sh && pytest -q tests/first_hour" || failed=1
fi
echo
echo "$(. "$root/etc/os-release"; echo "$PRETTY_NAME") in a bare root, $(nproc) cores"
cat "$results"
[ "$keep" = 1 ] || rm -rf --one-file-system "$root"
exit $failed
