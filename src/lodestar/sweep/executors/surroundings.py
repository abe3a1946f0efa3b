"""What a trial finds in its process, put back after it: a trial must not reach the next one in the same worker.

Timers, signal handlers and the signal mask, file mask, folder, environment, cores. Not put back: global variables and
settings of libraries (seeds, number of threads), limits on resources. Threads and processes are the worker's concern.
"""

import contextlib
import faulthandler
import os
import signal
from pathlib import Path

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


class Surroundings:
    """The state of this process when this is made. `faulthandler` must be enabled."""

    def __init__(self):
        self._folder = Path.cwd()
        self._umask = _umask()
        self._environment = dict(os.environ)
        self._handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        signal.set_wakeup_fd(wakeup := signal.set_wakeup_fd(-1))
        self._wakeup = wakeup
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None

    def restore(self) -> None:
        """Call it in the main thread. A handler of the trial's may raise in the midst: its timers are off by then."""
        try:
            self._restore()
        except BaseException:  # noqa: BLE001  the trial's own, whatever it is
            self._restore()

    def _restore(self) -> None:
        for timer in TIMERS:
            signal.setitimer(timer, 0)
        faulthandler.cancel_dump_traceback_later()
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) != handler:  # None: compiled code's, and not to be set
                signal.signal(number, handler)
        faulthandler.disable()
        faulthandler.enable(2)  # puts its own handlers back; sys.stderr may be the trial's
        signal.set_wakeup_fd(self._wakeup)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        os.umask(self._umask)
        if os.environ != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        with contextlib.suppress(OSError):  # the folder was removed, cores were taken away
            os.chdir(self._folder)
        if self._cores is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self._cores)


def _umask() -> int:
    os.umask(mask := os.umask(0))
    return mask
