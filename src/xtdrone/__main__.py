"""The start of the `xtdrone` command, also `python -m xtdrone`."""

import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of a Ctrl-C during the imports


def main() -> int:
    """Runs the command line and returns its exit status."""
    from xtdrone_core import command

    interrupted = []

    def interrupt(number: int, _: object) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    # A name of a file may have bytes that are no text.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return command.main()
    except Exception:
        if interrupted:  # some C modules turn a Ctrl-C during their import into an ImportError
            return 130
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nor a traceback during Python's own end


if __name__ == "__main__":
    sys.exit(main())
