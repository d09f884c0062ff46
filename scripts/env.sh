# The environment of the workspace, for a shell that runs its nodes or commands:
#
#     . scripts/env.sh
#
# Works in bash and zsh from anywhere, in other shells from the workspace's folder.
# An existing ROS_PACKAGE_PATH, ROS_MASTER_URI or ROS_IP is kept.

if [ -n "${BASH_SOURCE:-}" ]; then
    _xtdrone_file=${BASH_SOURCE[0]}
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval '_xtdrone_file=${(%):-%x}'
else
    _xtdrone_file=scripts/env.sh
fi
_xtdrone_root=$(cd "$(dirname "$_xtdrone_file")/.." && pwd -P)

if [ ! -x "$_xtdrone_root/.venv/bin/python" ]; then
    echo "$_xtdrone_root is not set up yet: run scripts/setup.sh there" >&2
    unset _xtdrone_file _xtdrone_root
    return 1 2>/dev/null || exit 1
else
    # A roslaunch whose status says whether a required node has failed.
    case ":$PATH:" in
        *":$_xtdrone_root/scripts/ros:"*) ;;
        *) command -v roslaunch >/dev/null && export PATH="$_xtdrone_root/scripts/ros:$PATH" ;;
    esac
    # The nodes start with "/usr/bin/env python3", so the environment's Python comes first.
    case ":$PATH:" in
        *":$_xtdrone_root/.venv/bin:"*) ;;
        *) export PATH="$_xtdrone_root/.venv/bin:$PATH" ;;
    esac
    case ":${PYTHONPATH:-}:" in
        *":$_xtdrone_root/src:"*) ;;
        *) export PYTHONPATH="$_xtdrone_root/src${PYTHONPATH:+:$PYTHONPATH}:$_xtdrone_root/.setup/ros" ;;
    esac
    # Ours comes last, so that a real MAVROS on this machine keeps its own messages.
    case ":${ROS_PACKAGE_PATH:-}:" in
        *":$_xtdrone_root/src:"*) ;;
        *) export ROS_PACKAGE_PATH="${ROS_PACKAGE_PATH:+$ROS_PACKAGE_PATH:}$_xtdrone_root/src" ;;
    esac
    export ROS_MASTER_URI="${ROS_MASTER_URI:-http://127.0.0.1:11311}"
    [ -n "${ROS_HOSTNAME:-}" ] || export ROS_IP="${ROS_IP:-127.0.0.1}"
    # NumPy's threads spin for a tenth of a second before they sleep, in each process: here they do not.
    export OPENBLAS_THREAD_TIMEOUT="${OPENBLAS_THREAD_TIMEOUT:-4}"
    # roslaunch runs its nodes in ~/.ros, so the place of the run folders is said here.
    export XTDRONE_RUNS="${XTDRONE_RUNS:-$_xtdrone_root/runs}"
    if [ -n "${BASH_VERSION:-}" ]; then
        case $- in
            *i*) command -v register-python-argcomplete >/dev/null 2>&1 \
                && eval "$(register-python-argcomplete xtdrone)" ;;
        esac
    fi
fi
unset _xtdrone_file _xtdrone_root
