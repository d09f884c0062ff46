#!/bin/bash
# The demonstrations of navigation, SLAM, perception and cooperation, one after the other, headless, as fast as the machine can; about twelve
# minutes of processor time. Each ends with a line; what it printed is in runs/demos/NAME.log.
#
#   scripts/demos.sh                    all
#   scripts/demos.sh swarm explore      those whose name contains one of these words
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
runs="${XTDRONE_RUNS:-$PWD/runs}/demos"
mkdir -p "$runs"
words=("${@:-}")
failed=()
ran=0

demo() { # NAME COMMAND...
    local name=$1 begun=$SECONDS wanted=0
    shift
    for word in "${words[@]}"; do case "$name" in *"$word"*) wanted=1 ;; esac; done
    [ $wanted = 1 ] || return 0
    ran=1
    if "$@" >"$runs/$name.log" 2>&1; then
        echo "ok    $name, $((SECONDS - begun)) s"
    else
        echo "FAIL  $name, $((SECONDS - begun)) s: $(tail -n 1 "$runs/$name.log")"
        failed+=("$name")
    fi
}

woods="$runs/woods.world" people="$runs/people.world"
xtdrone planning world woods --seed 1 --out "$woods" >/dev/null
xtdrone planning world navigation_forest --seed 1 --people 10 --out "$people" >/dev/null
small="--vehicle iris_depth_small --world $woods --speed 0"
pair="iris_depth_small@0,-2,0; iris_depth_small@0,2,0"
three="iris_depth_small@0,0,0; iris_depth_small@-2,2,0; iris_depth_small@-2,-2,0"
demo navigate xtdrone fly navigate $small --set goal=30,0,2 --name demo_navigate
demo planner_policy xtdrone fly navigate $small --set goal=20,0,2 --set planner=policy --name demo_policy
demo people xtdrone fly navigate --vehicle iris_depth_ring --world "$people" --speed 0 --set goal=14,0,1.3 \
    --set speed=2 --set high=1.6 --set height=1.3 --name demo_people
demo faults xtdrone planning faults
demo swarm xtdrone fly swarm --vehicles "$pair" --world "$woods" --speed 0 --set goal=14,0,2 --set delay=0.1 \
    --set loss=0.1 --name demo_swarm
demo formation xtdrone fly swarm_formation --vehicles "$three" --world "$woods" --speed 0 --set goal=20,0,2 \
    --set formation=V --name demo_formation
demo explore xtdrone fly explore --vehicle iris_depth_small --world hall --speed 0 --set seconds=30 --name demo_explore
demo lidar_in_the_loop xtdrone slam live --system voxel_lio --vehicle iris_3d_lidar --world indoor --trajectory rounds
demo planar_in_the_loop xtdrone slam live --system planar_slam --vehicle iris_2d_lidar --world hall --trajectory tour
demo vio_in_the_loop xtdrone slam live --system msckf --trajectory rounds
demo landing xtdrone fly marker_landing --vehicle iris_downward --world landing --speed 0 --name demo_landing
demo landing_on_rover xtdrone fly marker_deck_landing --vehicles 'rover_marker; iris_downward@-3,0,0' --world landing \
    --speed 0 --name demo_landing_on_rover
demo follow xtdrone fly follow --vehicles typhoon_h480@0,-14 --world street --speed 0 --set target=person \
    --set duration=10 --set detector=own --name demo_follow
demo openings xtdrone fly openings --vehicle typhoon_h480 --track eight --set count=1 --speed 0 --name demo_openings
demo chase xtdrone fly chase --vehicles 'iris@6,0; typhoon_h480' --speed 0 --name demo_chase
demo load xtdrone fly load --loads "iris_0 0.5 1.5" --gps rtk --speed 0 --name demo_load
demo load_bar xtdrone fly load --vehicles 'iris@0,-1; iris@0,1' --loads 'iris_0+iris_1 0.8 1.5 2.0' --world gap --gps rtk --speed 0 \
    --set way=16 --set speed=2 --name demo_load_bar
demo pick xtdrone fly pick --vehicle quadrotor_gripper --models 'parcel@3,0; goal_marker@3,3' --speed 0 --name demo_pick
demo challenge xtdrone challenge run inspection --seeds 1
demo challenge_by_mavlink xtdrone challenge run delivery_in_wind --team mavlink:examples/challenge_deliver.py --seeds 1
if command -v roslaunch >/dev/null; then
    demo ros roslaunch launch/navigation.launch world:=hall speed:=0 goal:=6,2,2 count:=1
fi
[ $ran = 1 ] || { echo "no '$*' here: give words of the names in scripts/demos.sh" >&2; exit 1; }
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}; see $runs" >&2; exit 1; }
