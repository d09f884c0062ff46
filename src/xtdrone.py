"""The start of the `xtdrone` command, also `python -m xtdrone`."""

import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of a Ctrl-C during the imports


def main() -> int:
    """Runs the command line and returns its exit status."""
    from xtdrone_core import command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return command.main()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nor of one during Python's own end


if __name__ == "__main__":
    sys.exit(main())
