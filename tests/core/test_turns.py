"""Short turns on the processor."""

import os
import platform
import threading

from xtdrone_core.runs.turns import take_short_turns


def test_linux_takes_the_request_and_nothing_else_changes():
    def ask():
        before = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)
        took = take_short_turns()
        said.extend((took, before == (os.getpriority(os.PRIO_PROCESS, 0),
                                      os.sched_getscheduler(0))))

    said = []
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == [platform.machine() in ("x86_64", "aarch64"), True]
