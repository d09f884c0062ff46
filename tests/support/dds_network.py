"""On a machine with a network: whether settings let a program on Cyclone DDS find loopback.

    python dds_network.py DOMAIN SETTINGS.xml

It makes a network of its own (unshare -n), publishes a topic as the simulation does, and prints the
exit status of plain_dds.py without and with the settings.
"""

import os
import subprocess
import sys
from pathlib import Path

NETWORK = (
    "ip link set lo up; ip link add near type veth peer name far; ip link set near up; "
    "ip link set far up; ip addr add 10.9.0.2/24 dev near; ip route add default dev near"
)
PLAIN = Path(__file__).with_name("plain_dds.py")


def main(domain, settings):
    """Publishes, and looks for it."""
    from xtdrone_ros2.wire import node as dds
    from xtdrone_ros2.wire.types import Types

    node = dds.Node(Types(), "/xtdrone", int(domain))
    node.writer("/clock", "rosgraph_msgs/msg/Clock")
    for uri, seconds in (("", "4"), (f"file://{settings}", "20")):
        found = subprocess.run(
            [sys.executable, str(PLAIN), domain, seconds, "/clock"],
            env={**os.environ, "CYCLONEDDS_URI": uri},
        )
        print(found.returncode, flush=True)
    node.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        os.execvp(
            "unshare",
            ["unshare", "-n", "sh", "-ec", f'{NETWORK}; exec "$@"', "sh"]
            + [sys.executable, *sys.argv, "inside"],
        )
    main(*sys.argv[1:3])
