# The workspace on Debian 12: ROS 1 from Debian's own packages, .venv, messages, compiled kernels.
# With GAZEBO=1 also Gazebo 11, unpacked beside the system, and its plugin.
#
#   docker build -f docker/workspace.Dockerfile -t xtdrone .
FROM debian:12-slim

ARG GAZEBO=0
ENV LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# Versions are those of the Debian release, which it pins itself.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates procps python3-venv \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /xtdrone
COPY . .
RUN scripts/setup.sh \
    && if [ "$GAZEBO" = 1 ]; then apt-get update && scripts/setup_gazebo.sh; fi \
    && rm -rf /var/lib/apt/lists/*

ENV XTDRONE_RUNS=/runs
VOLUME /runs
ENTRYPOINT ["docker/entrypoint.sh"]
CMD ["xtdrone", "sim"]
