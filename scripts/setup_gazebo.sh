#!/bin/bash
# Sets Gazebo 11 up for engine:=gazebo, and builds its plugin. Safe to call again.
#
#   scripts/setup_gazebo.sh
#
# Where the distribution has Gazebo 11 (Debian 11, Ubuntu 20.04 and 22.04) its package is installed.
# Debian 12 has none, and apt cannot mix the two releases: there Debian 11's packages are unpacked
# into .setup/gazebo11, beside the system and without touching apt or dpkg (520 MB). Other systems
# are refused.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(pwd -P)
prefix=$root/.setup/gazebo11
source=src/xtdrone_sim/engines/gazebo/plugin
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

say() { echo "[gazebo] $*"; }
fail() { echo "[gazebo] $*" >&2; exit 1; }

case "${1:-}" in
    "") ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "unknown option '$1': there are none" ;;
esac

command -v apt-get >/dev/null || fail "no apt-get here: Gazebo 11 comes from Debian 11 and 12 or" \
    "Ubuntu 20.04 and 22.04; use docker/ elsewhere"
[ "$(dpkg --print-architecture)" = amd64 ] || fail "Gazebo 11 is set up on amd64 only, this is" \
    "$(dpkg --print-architecture): use engine:=embedded"
mkdir -p "$prefix"
exec 9>"$prefix/lock"
flock -w 900 9 || fail "another scripts/setup_gazebo.sh has held $prefix/lock for 15 minutes"

# as_root COMMAND...: through sudo where we are not root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo env DEBIAN_FRONTEND=noninteractive "$@"; fi
}
names_in() { grep -v '^#' "$1"; }

install_packages() {
    local missing=() name lock
    for name in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] \
            || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${#missing[@]} packages with apt (log: .setup/gazebo11/apt.log)"
    exec {lock}>.setup/apt.lock  # scripts/setup.sh may install at the same time
    flock -w 900 "$lock" || true
    as_root apt-get -q update >"$prefix/apt.log" 2>&1 || say "apt-get update failed, going on"
    as_root apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends \
        "${missing[@]}" >>"$prefix/apt.log" 2>&1 \
        || fail "apt-get install failed: $(grep -m1 '^E:' "$prefix/apt.log" || tail -n1 \
            "$prefix/apt.log")"
    exec {lock}>&-
}

# unpack: Debian 11's packages into $prefix/root, from the mirror that this system uses itself.
unpack() {
    local mirror apt=$prefix/apt file
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        | awk '/\/debian\/?$/ { print; exit }')
    [ -n "$mirror" ] || fail "apt knows no Debian mirror: run apt-get update first"
    say "unpacking Debian 11's Gazebo 11 into .setup/gazebo11 (164 MB to load, half a minute)"
    mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial "$prefix"/packages
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bullseye main" \
        >"$apt/sources.list"
    local options=(-q -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
        -o "APT::Sandbox::User=$(id -un)" -o Acquire::Check-Valid-Until=false)
    apt-get "${options[@]}" update >"$prefix/unpack.log" 2>&1 \
        || fail "cannot read the packages of bullseye on $mirror: see .setup/gazebo11/unpack.log"
    (cd "$prefix/packages" && apt-get "${options[@]}" download \
        $(names_in "$root/scripts/gazebo-unpacked-packages.txt" | sed 's#$#/bullseye#')) \
        >>"$prefix/unpack.log" 2>&1 \
        || fail "cannot load Debian 11's packages: see .setup/gazebo11/unpack.log"
    rm -rf "$prefix/root.new"
    mkdir "$prefix/root.new"
    for file in "$prefix"/packages/*.deb; do dpkg-deb -x "$file" "$prefix/root.new"; done
    rm -rf "$prefix/root" "$prefix/packages" "$apt"
    mv "$prefix/root.new" "$prefix/root"
}

# The environment of Gazebo's processes, and of nothing else: its libraries are Debian 11's.
environment() {
    cat <<END
gz=$prefix/root
lib=\$gz/usr/lib/x86_64-linux-gnu
export PATH=\$gz/usr/bin:\$PATH
export LD_LIBRARY_PATH=\$lib:\$gz/lib/x86_64-linux-gnu:\$lib/gazebo-11/plugins:\$lib/OGRE-1.9.0:\$lib/pulseaudio:\$gz/usr/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export GAZEBO_RESOURCE_PATH=\$gz/usr/share/gazebo-11
export GAZEBO_PLUGIN_PATH=\$lib/gazebo-11/plugins
export GAZEBO_MODEL_PATH=\$gz/usr/share/gazebo-11/models\${GAZEBO_MODEL_PATH:+:\$GAZEBO_MODEL_PATH}
export OGRE_RESOURCE_PATH=\$lib/OGRE-1.9.0
export SDF_PATH=\$(ls -d \$gz/usr/share/sdformat*/* 2>/dev/null | head -n1)
END
}

common_environment() {
    cat <<'END'
export GAZEBO_MODEL_DATABASE_URI= GAZEBO_IP=${GAZEBO_IP:-127.0.0.1} HOME=${HOME:-/tmp}
export GAZEBO_MASTER_URI=${GAZEBO_MASTER_URI:-http://127.0.0.1:11345}
# Anisotropic filtering costs a software renderer six sevenths of its speed.
export MESA_EXTENSION_OVERRIDE="-GL_EXT_texture_filter_anisotropic -GL_ARB_texture_filter_anisotropic"
END
}

build_plugin() {
    local base=/usr flags=()
    [ ! -d "$prefix/root" ] || base=$prefix/root/usr
    local lib=$base/lib/x86_64-linux-gnu include
    for include in gazebo-11 gazebo-11/gazebo $(cd "$base/include" && ls -d sdformat-* ignition/*) \
        OGRE OGRE/Paging OGRE/Terrain; do
        [ ! -d "$base/include/$include" ] || flags+=(-isystem "$base/include/$include")
    done
    [ "$base" = /usr ] || flags+=(-isystem "$base/include" -isystem "$base/include/x86_64-linux-gnu"
        -Wl,-rpath-link,"$lib")
    say "building the plugin (log: .setup/gazebo11/plugin.log); half a minute"
    rm -f "$prefix"/*.o
    { printf '%s\n' "$source"/*.cc \
        | xargs -P 2 -I {} sh -c 'file=$1 to=$2; shift 2; g++ -std=c++17 -O2 -Wall -Wextra -fPIC \
            "$@" -c "$file" -o "$to/$(basename "$file").o"' sh {} "$prefix" "${flags[@]}" \
        && g++ -shared "$prefix"/*.o -o "$prefix/libxtdrone_lockstep.so.new" \
            -L"$lib" -L"$lib/gazebo-11/plugins" "${flags[@]}" -lgazebo_sensors -lgazebo_rendering \
            -lgazebo_physics -lgazebo_ode -lgazebo_transport -lgazebo_msgs -lgazebo_common \
            -lsdformat9 -lOgreMain -lprotobuf
    } >"$prefix/plugin.log" 2>&1 \
        || fail "the plugin does not build: $(grep -m1 'error' "$prefix/plugin.log" \
            || echo 'see .setup/gazebo11/plugin.log')"
    mv "$prefix/libxtdrone_lockstep.so.new" "$prefix/libxtdrone_lockstep.so"
}

begin=$SECONDS
candidate=$(apt-cache policy gazebo 2>/dev/null | awk '/Candidate:/ { print $2 }')
. /etc/os-release
if [[ "$candidate" == 11.* ]]; then
    install_packages gazebo libgazebo-dev g++ xvfb xauth
    common_environment >"$prefix/env.sh"
elif [ "$ID" = debian ] && [ "${VERSION_ID:-}" = 12 ]; then
    install_packages g++ $(names_in scripts/gazebo-host-packages.txt)
    key=$(sha256sum scripts/gazebo-unpacked-packages.txt | cut -c1-16)
    if [ "$(cat "$prefix/unpacked" 2>/dev/null)" != "$key" ] || [ ! -d "$prefix/root" ]; then
        unpack
        echo "$key" >"$prefix/unpacked"
    fi
    { environment; common_environment; } >"$prefix/env.sh"
else
    fail "${PRETTY_NAME:-this system} has no Gazebo 11: it comes with Debian 11, Ubuntu 20.04 and" \
        "22.04, and is unpacked on Debian 12; elsewhere use docker/ or engine:=embedded"
fi

key=$(cat "$source"/* "$prefix/env.sh" | sha256sum | cut -c1-16)
if [ "$(cat "$prefix/plugin" 2>/dev/null)" != "$key" ]; then
    build_plugin
    echo "$key" >"$prefix/plugin"
fi
say "ready ($((SECONDS - begin)) s)"
