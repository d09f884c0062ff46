"""A ground station for benchmarks: parses and counts every message on UDP 14550.

When its standard input closes it prints one line of JSON: messages, datagrams
and its own CPU seconds.
"""

import json
import resource
import select
import socket
import sys

from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core.runs.ports import Ports


def main():
    """Parses messages until standard input closes."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    sock.bind(("127.0.0.1", Ports().ground_station))
    parsers, messages, datagrams = {}, 0, 0
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([sock, sys.stdin], [], [])
        if sock in ready:
            data, address = sock.recvfrom(65536)
            if address not in parsers:
                parsers[address] = mavlink.MAVLink(None)
            datagrams += 1
            messages += len(parsers[address].parse_buffer(data) or ())
        elif sys.stdin in ready:
            break
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "messages": messages,
                "datagrams": datagrams,
                "vehicles": len(parsers),
                "cpu_s": usage.ru_utime + usage.ru_stime,
            }
        )
    )


if __name__ == "__main__":
    main()
