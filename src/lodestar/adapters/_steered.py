"""What every adapter has beside its own methods: the scheduler's records, and a place to say what a user should know.

Comes in: a `scheduler` attribute, None until a callback is started. Goes out: `warnings`, `plan()`, `followed()` and
`score()`, the same on each. This file knows no framework.
"""

import abc
import warnings
from collections.abc import Mapping
from typing import Any

from lodestar.adapters._source import close, stopped, summary
from lodestar.scheduler.inputs import count_of, nameless, unknown_names
from lodestar.scheduler.records.shadow import ShadowScore
from lodestar.schedules.schedule import Schedule


class Steered:
    """Something that is steered by its `scheduler`."""

    scheduler: Any

    @property
    def warnings(self) -> list[str]:
        """What went wrong so far, in sentences, each kind once."""
        return [] if self.scheduler is None else self.scheduler.warnings

    def plan(self) -> Schedule:
        """The rates from here on, as they stand now. Looking ahead decides nothing."""
        return self._steering.plan()

    def followed(self) -> Schedule:
        """The rates so far."""
        return self._steering.followed()

    def score(self) -> ShadowScore:
        """How good the forecasts of the final metric were, against the last metric observed."""
        return self._steering.score()

    @property
    def _steering(self) -> Any:
        if self.scheduler is None:
            raise RuntimeError(
                f"the {type(self).__name__} was not started. Fix: pass it to the trainer or to fit, and train first"
            )
        return self.scheduler

    def _say(self, kind: str, text: str) -> None:
        """Warn, once of each kind: on record, in the log, and as a `UserWarning` to whoever called the adapter."""
        if self._steering.warn(kind, text):
            warnings.warn(text, UserWarning, stacklevel=4)

    def _observe(
        self, last: int, unnamed: tuple[Any, ...], unknown: Mapping[str, Any], step: int | None, loss: Any, metric: Any
    ) -> None:
        """Hand on what was measured at `step`, by default at update `last`.

        A whole number by position beside a named value is its step, as `Scheduler.observe` takes it; any other value by
        position could be a loss or a metric.
        """
        if len(unnamed) == 1 and step is None and not (loss is None and metric is None):
            step, unnamed = (count_of(unnamed[0]), ()) if count_of(unnamed[0]) is not None else (None, unnamed)
        if unnamed:
            self._say("unnamed", nameless(unnamed))
        if unknown:
            self._say("unknown", unknown_names(unknown))
        self._steering.observe(max(last, 1) if step is None else step, loss=loss, metric=metric)


class SteeredJob(Steered):
    """An adapter that knows how many updates were made."""

    @property
    def stopped(self) -> bool:
        """Whether a command has ended the run (`control=True`): break your loop then."""
        return stopped(self.scheduler, self._updates)

    def summary(self) -> str:
        """What became of the run, in one line."""
        return summary(self._steering, self._updates)

    def close(self) -> None:
        """The run is over: its summary goes to the logger and the log. Said by itself if you forget."""
        close(self.scheduler, self._updates)

    @property
    @abc.abstractmethod
    def _updates(self) -> int:
        """Updates made so far."""
