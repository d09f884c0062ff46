#!/bin/bash
# Sets the workspace up on Debian 12+ or Ubuntu 22.04+. Safe to call again: what is done is skipped.
#
#   scripts/setup.sh            the distribution's packages (ROS, rviz, what windows and cameras need),
#                               .venv, messages, kernels
#   scripts/setup.sh --demo     only what flights through ROS and in process need, such as the demonstration
#   scripts/setup.sh --no-ros   leaves the system's packages alone
#   scripts/setup.sh --learn    also PyTorch and what else learning and its tests need
#   scripts/setup.sh --cache FOLDER   without a network: all from a folder that `make cache` filled
#
# Steps leave stamps in .setup/, named by a hash of what they depend on. pip, which does not
# look at the system's packages, works beside apt.

set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(pwd -P)
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive TZ=${TZ:-Etc/UTC}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

say() { echo "[setup] $*"; }
fail() { echo "[setup] $*" >&2; exit 1; }

with_ros=1
with_learning=0
demo=0
cache=
while [ $# -gt 0 ]; do
    case "$1" in
        --no-ros) with_ros=0 ;;
        --learn) with_learning=1 ;;
        --demo) demo=1 ;;
        --cache)
            cache=$(cd "$here" && cd "${2:-}" 2>/dev/null && pwd -P) && [ -n "${2:-}" ] && [ -d "$cache/wheels" ] \
                || fail "--cache needs a folder that 'make cache' filled, given '${2:-}'"
            shift
            ;;
        -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option '$1': only --demo, --no-ros, --learn and --cache are allowed" ;;
    esac
    shift
done

mkdir -p .setup
exec 9>.setup/lock
flock -w 900 9 || fail "another scripts/setup.sh has held .setup/lock for 15 minutes: stop it first"

# hash_of FILE...: one hash over names and contents.
hash_of() { sha256sum "$@" | sha256sum | cut -c1-16; }
# stamped STEP HASH: whether that step was done with that hash.
stamped() { [ "$(cat ".setup/$1.done" 2>/dev/null)" = "$2" ]; }
stamp() { echo "$2" >".setup/$1.done"; }

# first NAME|NAME... COMMAND...: the first of the names for which the command succeeds.
first() {
    local name
    for name in ${1//|/ }; do
        if "${@:2}" "$name"; then echo "$name"; return 0; fi
    done
    return 1
}
# Where pip and apt look: on the network, or in the folder alone.
wheels=()
sources=()
if [ -n "$cache" ]; then
    wheels=(--no-index --find-links "$cache/wheels")
    if [ -f "$cache/debs/Packages" ]; then
        mkdir -p .setup/apt-lists/partial
        echo "deb [trusted=yes] file:${cache// /%20}/debs ./" >.setup/apt-sources.list
        sources=(-o "Dir::Etc::sourcelist=$root/.setup/apt-sources.list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$root/.setup/apt-lists" -o Dir::Cache::pkgcache=
            -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
    fi
fi
# look_up NAME...: notes which packages are installed, all in one look.
look_up() {
    present=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null \
        | sed -n 's/ installed$//p' || true)$'\n'
}
installed() { [[ $present == *$'\n'"$1"$'\n'* ]]; }
offered() { apt-cache "${sources[@]}" show "$1" >/dev/null 2>&1; }
has_ros() { command -v roslaunch >/dev/null; }
has_venv() { /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; }
# packages: what is wanted of the distribution, one a line.
packages() {
    local end='$'
    [ "$demo" -eq 0 ] || end='/^# Beyond flights/'
    sed -n "1,${end}{/^[^#]/p}" scripts/apt-packages.txt
}
# consequence: what works and what does not, where packages could not be installed.
consequence() {
    has_ros || echo -n "'xtdrone' works, roslaunch does not; "
    echo "'xtdrone doctor' says what windows and cameras lack"
}

# system_packages NAME...: installs what is missing of the distribution's packages.
updated=0
system_packages() {
    local missing=() as_root=() wanted=() name found present
    look_up ${@//|/ }
    for name in "$@"; do
        first "$name" installed >/dev/null || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        say "no apt-get here, so ${#missing[@]} packages are not installed (see" \
            "scripts/apt-packages.txt): $(consequence)"
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
            say "no root and no sudo, so ${#missing[@]} packages are not installed (see" \
                "scripts/apt-packages.txt): $(consequence)"
            return 1
        fi
        as_root=(sudo)
    fi
    say "installing ${#missing[@]} packages with apt (log: .setup/apt.log); a few minutes"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive TZ="$TZ" LC_ALL="$LC_ALL"
        apt-get -q -o DPkg::Lock::Timeout=300 "${sources[@]}")
    local lock
    exec {lock}>.setup/apt.lock  # scripts/setup_gazebo.sh may install at the same time
    flock -w 900 "$lock" || true
    if [ "$updated" -eq 0 ]; then
        "${apt[@]}" update >.setup/apt.log 2>&1 || say "apt-get update failed, trying without it"
        updated=1
    fi
    for name in "${missing[@]}"; do
        if found=$(first "$name" offered); then
            wanted+=("$found")
        else
            say "this distribution has no package $name"
        fi
    done
    if ! "${apt[@]}" install -y --no-install-recommends "${wanted[@]}" >>.setup/apt.log 2>&1; then
        say "apt-get install failed: $(grep -m1 '^E:' .setup/apt.log ||
            echo 'see .setup/apt.log'); $(consequence)"
        exec {lock}>&-
        return 1
    fi
    exec {lock}>&-
}

python_environment() {
    /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
        || fail "Python 3.10 or newer is needed as /usr/bin/python3: install python3"
    # A virtual environment knows its own path, so a moved checkout needs a new one.
    if ! grep -qsF "$root/.venv/bin/python" .venv/bin/pip; then
        [ ! -L .venv ] || fail ".venv is a link to an environment of another folder, which would" \
            "be cleared: remove the link"
        say "making .venv"
        /usr/bin/python3 -m venv --clear --system-site-packages .venv >.setup/venv.log 2>&1 \
            || fail "cannot make .venv (log: .setup/venv.log): install python3-venv"
    fi
    # The versions are pinned in both cases; for the demonstration only what pyproject.toml asks for.
    local wanted=(-r requirements.txt -r requirements-slam.txt -r requirements-dev.txt) own=(--no-deps)
    [ "$demo" -eq 0 ] || { wanted=(-c requirements.txt setuptools) && own=(-c requirements.txt); }
    say "installing Python packages into .venv (log: .setup/pip.log); a few minutes"
    sees_system false
    local pip=(.venv/bin/python -m pip install --no-compile --progress-bar off "${wheels[@]}")
    { "${pip[@]}" "${wanted[@]}" && "${pip[@]}" --no-build-isolation "${own[@]}" -e .; } \
        >.setup/pip.log 2>&1 \
        || fail "pip failed: $(grep -m1 -E '^(ERROR|Could not fetch URL)' .setup/pip.log ||
            echo 'see .setup/pip.log')"
    sees_system true
}

# sees_system true|false: whether Python in .venv finds the system's packages, such as rospy. pip does
# not, since apt may be changing them.
sees_system() {
    [ ! -f .venv/pyvenv.cfg ] \
        || sed -i "s/^\(include-system-site-packages = \).*/\1$1/" .venv/pyvenv.cfg
}

learning() {
    say "installing PyTorch and other packages for learning (log: .setup/learn.log); a few minutes"
    .venv/bin/python -m pip install --no-compile --progress-bar off "${wheels[@]}" \
        -r requirements.txt -r requirements-slam.txt -r requirements-learn.txt >.setup/learn.log 2>&1 \
        || fail "pip failed: $(grep -m1 -E '^(ERROR|Could not fetch URL)' .setup/learn.log ||
            echo 'see .setup/learn.log')"
}

messages() {
    say "generating the modules of our ROS messages"
    rm -rf .setup/ros.new
    mkdir -p .setup/ros.new
    /usr/bin/python3 scripts/make_messages.py .setup/ros.new >.setup/messages.log 2>&1 \
        || fail "cannot generate the ROS messages: see .setup/messages.log"
    rm -rf .setup/ros
    mv .setup/ros.new .setup/ros
}

# writing COMMAND...: with Python's bytecode kept, which containers often forbid.
writing() { env -u PYTHONDONTWRITEBYTECODE "$@"; }

# Bytecode of what starts import, for users and containers that may not write it.
bytecode() {
    say "keeping the bytecode of what commands import"
    PYTHONPATH="$root/src:$root/.setup/ros" writing .venv/bin/python scripts/make_bytecode.py \
        >.setup/bytecode.log 2>&1 && return 0
    say "that failed ($(tail -n1 .setup/bytecode.log)); Python compiles it at each start"
    return 1
}

kernels() {
    if [ -n "$cache" ]; then
        local kept="${XDG_CACHE_HOME:-$HOME/.cache}/xtdrone/kernels"
        mkdir -p "$kept" && cp -rn "$cache/kernels/." "$kept" || true
    fi
    say "compiling the kernels (log: .setup/kernels.log); a minute or two"
    writing .venv/bin/xtdrone warmup >.setup/kernels.log 2>&1 && return 0
    say "that failed ($(tail -n1 .setup/kernels.log)); they will be compiled at the first start"
    return 1
}

# to_do NAME HASH: whether a step that does less for the demonstration is still to do.
to_do() { ! { stamped "$1" "$2" || { [ "$demo" -eq 1 ] && stamped "$1" "$2-demo"; }; }; }
did() { if [ "$demo" -eq 1 ]; then stamp "$1" "$2-demo"; else stamp "$1" "$2"; fi; }

compiled() {
    local key
    key=$(hash_of $(grep -rl --include='*.py' 'compiled import' src) requirements.txt)
    if to_do kernels "$key" && kernels; then did kernels "$key"; fi
}

start=$SECONDS
trap wait EXIT  # nothing goes on working after an error
system_job=
if [ "$with_ros" -eq 1 ]; then
    has_venv || system_packages python3-venv || true
    system_packages $(packages) &
    system_job=$!
fi

key=$(hash_of requirements*.txt pyproject.toml setup.py scripts/setup.sh /usr/bin/python3)
if ! grep -qsF "$root/.venv/bin/python" .venv/bin/pip || to_do python "$key"; then
    python_environment
    did python "$key"
fi

# Those that draw need the system's libraries, too.
[ "$demo" -eq 0 ] || compiled
if [ -n "$system_job" ]; then
    wait "$system_job" || true
    has_ros || with_ros=0
fi

# The kernels are compiled on one core while PyTorch comes on another.
learning_job=
if [ "$with_learning" -eq 1 ]; then
    learning_key=$(hash_of requirements*.txt pyproject.toml /usr/bin/python3)
    if ! stamped learning "$learning_key" || ! compgen -G '.venv/lib/python3*/site-packages/torch/__init__.py' >/dev/null; then
        learning &
        learning_job=$!
    fi
fi

if [ "$with_ros" -eq 1 ]; then
    ros_path=${ROS_PACKAGE_PATH:-}
    key=$(hash_of src/*_msgs/*/* scripts/make_messages.py)-${ros_path//\//.}
    if ! stamped messages "$key"; then
        messages
        stamp messages "$key"
    fi
fi

[ "$demo" -eq 1 ] || compiled

key=$(hash_of $(find src -name '*.py') requirements*.txt scripts/make_bytecode.py)
if to_do bytecode "$key" && bytecode; then did bytecode "$key"; fi

if [ -n "$learning_job" ]; then
    wait "$learning_job" || exit 1
    stamp learning "$learning_key"
fi

say "ready ($((SECONDS - start)) s); for a shell of your own: . scripts/env.sh"
