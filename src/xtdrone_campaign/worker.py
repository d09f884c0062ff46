"""A worker process of runners.ProcessRunner: python -m xtdrone_campaign.worker DESCRIPTOR."""

import sys
from multiprocessing.connection import Connection


def main() -> None:
    """Calls the function that it gets first for each task that follows, until the link closes."""
    link = Connection(int(sys.argv[1]))
    try:
        function = link.recv()
        link.send(None)  # loaded
        while True:
            link.send(function(link.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
