"""What is odd about the trials of a search: a sentence each, once, and the search goes on."""

import logging
from collections.abc import Sequence

from lodestar.integrations._trial_run import ALIKE
from lodestar.runs import Direction, Run

_NOTHING = 10  # trials that ended, none of them whole, after which that is said


class Survey:
    """Says each kind of sentence once. `pruner` and `report` are what its owner calls these, for the cure."""

    def __init__(self, log: logging.Logger, *, pruner: str, report: str, total: str):
        self._log, self._pruner, self._report, self._total = log, pruner, report, total
        self._said: set[str] = set()

    def say(self, sentence: str) -> None:
        """Once, whatever the numbers in it."""
        kind = "".join(letter for letter in sentence if not letter.isdigit())[:60]
        if kind not in self._said:
            self._said.add(kind)
            self._log.warning("%s", sentence)

    def ended(self, ended: int, whole: int) -> None:
        """How many trials ended, and how many of them with values and to the end."""
        if ended >= _NOTHING and not whole:
            self.say(
                f"none of the {ended} trials that ended has finished with values reported on the way, so there is "
                f"nothing to learn from. Fix: {self._report} in the objective; see why trials fail"
            )

    def length(self, lengths: Sequence[int], *, told: bool) -> int | None:
        """The length of a trial by those of finished ones; None where they differ. `told`: each says its own."""
        alike = bool(lengths) and max(lengths) <= ALIKE * min(lengths) + 1
        if lengths and not alike and not told:
            self.say(
                f"finished trials end between steps {min(lengths)} and {max(lengths)}, so nobody knows how long a "
                f"trial under way will be, and none is stopped. Fix: {self._total}, or "
                f"{self._pruner}(total_steps=lambda params: ...)"
            )
        return max(lengths) if alike else None

    def rated(self, rated: int, whole: int) -> None:
        """How many of the finished trials say their learning rate."""
        if 0 < rated < whole:
            self.say(
                f"{whole - rated} of {whole} finished trials say nothing of their learning rate; where most "
                "do, the others are left out, else all are judged by their curves. Fix: report lr in each"
            )

    def history(self, past: Sequence[Run], direction: Direction) -> None:
        """Runs from before must be better in the direction of this search."""
        other = sum(run.direction is not direction for run in past)
        if other:
            self.say(
                f"{other} of {len(past)} runs of the history are of a metric to be "
                f"{'minimised' if direction is Direction.MAX else 'maximised'}, and this one is to be "
                f"{'maximised' if direction is Direction.MAX else 'minimised'}: they are left out. Fix: a history of "
                "the metric of this search"
            )
