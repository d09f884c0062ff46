#!/bin/bash
# Runs a command in the workspace's environment.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
. scripts/env.sh
exec "$@"
