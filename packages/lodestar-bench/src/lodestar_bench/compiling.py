"""How long JAX spent compiling in this process, so that the first run of a kind is not charged for all later ones.

Comes in: JAX's own announcements. Goes out: seconds since some moment. Knows nothing of runs.
"""

import functools

import jax

_EVENTS = ("jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration")


class Compiling:
    """Counts the seconds of tracing, lowering and compiling."""

    def __init__(self):
        self.seconds = 0.0

    def take(self, event: str, duration_secs: float, **_: str | int) -> None:
        """JAX announces something that took a while."""
        if event.endswith(_EVENTS):
            self.seconds += duration_secs


@functools.cache
def compiling() -> Compiling:
    """The counter of this process; listening from the first call on."""
    counter = Compiling()
    jax.monitoring.register_event_duration_secs_listener(counter.take)
    return counter
