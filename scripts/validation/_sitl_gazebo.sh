#!/bin/bash
# Builds wings and motors of PX4's sitl_gazebo-classic for wings.py: .setup/gazebo11/sitl_gazebo.
#
#   scripts/validation/_sitl_gazebo.sh CHECKOUT
#
# Needs scripts/setup_gazebo.sh, and Eigen (Debian's libeigen3-dev).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() { echo "$*" >&2; exit 1; }
[ -f "${1:-}/src/gazebo_motor_model.cpp" ] || fail "'${1:-}' has no src/gazebo_motor_model.cpp:" \
    "give a checkout of PX4-SITL_gazebo-classic"
checkout=$(cd "$1" && pwd)
prefix=$here/../../.setup/gazebo11
[ -f "$prefix/env.sh" ] || fail "Gazebo 11 is not set up: run scripts/setup_gazebo.sh"
out=$prefix/sitl_gazebo
base=/usr
[ ! -d "$prefix/root" ] || base=$prefix/root/usr
lib=$base/lib/x86_64-linux-gnu
. "$prefix/env.sh"

mkdir -p "$out/messages"
protoc -I "$checkout/msgs" -I "$base/include/gazebo-11/gazebo/msgs/proto" \
    --cpp_out="$out/messages" "$checkout"/msgs/{CommandMotorSpeed,MotorSpeed,Float,Wind,Force}.proto
flags=(-I"$checkout/include" -I"$out/messages" -isystem /usr/include/eigen3)
for include in gazebo-11 gazebo-11/gazebo gazebo-11/gazebo/msgs \
    $(cd "$base/include" && ls -d sdformat-* ignition/*); do
    flags+=(-isystem "$base/include/$include")
done
[ "$base" = /usr ] || flags+=(-isystem "$base/include" -isystem "$base/include/x86_64-linux-gnu"
    -Wl,-rpath-link,"$lib")

# build NAME SOURCE MESSAGE...
build() {
    local name=$1 source=$2
    shift 2
    g++ -std=c++17 -O2 -fPIC -shared -w "${flags[@]}" "$source" "${@/#/$out/messages/}" \
        -o "$out/$name" -L"$lib" -L"$lib/gazebo-11/plugins" -lgazebo_physics -lgazebo_transport \
        -lgazebo_msgs -lgazebo_common -lsdformat9 -lprotobuf -lboost_system 2>"$out/$name.log" \
        || fail "$name does not build: see $out/$name.log"
}
build libLiftDragPlugin.so "$checkout/src/liftdrag_plugin/liftdrag_plugin.cpp" \
    {Force,Wind}.pb.cc
build libgazebo_motor_model.so "$checkout/src/gazebo_motor_model.cpp" \
    {CommandMotorSpeed,MotorSpeed,Float,Wind}.pb.cc
build libhold_motors.so "$here/_hold_motors.cc" CommandMotorSpeed.pb.cc
