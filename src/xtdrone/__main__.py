"""The start of the `xtdrone` command, also `python -m xtdrone`."""

import gc
import os
import signal
import sys

# NumPy's threads spin for a tenth of a second before they sleep, in each process: here they do not.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
# A start makes a hundred thousand objects that stay: looking through them takes a tenth of it.
gc.set_threshold(50_000, 20, 50)
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
        gc.freeze()  # Python's own end looks through all objects once more, a fifth of a second
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nor a traceback during that


if __name__ == "__main__":
    sys.exit(main())
