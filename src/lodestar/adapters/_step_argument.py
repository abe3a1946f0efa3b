"""What `LodestarLR.step` was given by position: a loss, as for ReduceLROnPlateau, or the number of updates done.

A number of a whole-number type is the count, any other the loss. Comes in: anything. Goes out: a number. What cannot be
right is a `ValueError` with its cure at once (a wrong count means one rate for the whole run); what is odd is a
sentence for the record. Knows no optimizer.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from lodestar.scheduler.inputs import number_of, shown

ENOUGH = 6  # losses by position, to tell them from epoch + i / batches


def loss_of(value: Any, loss: Any) -> float:
    """The loss that was given by position; `loss` is the one given by name."""
    number = number_of(value)
    if number is None or loss is not None:
        raise ValueError(
            f"step takes one number by position, the loss or the number of updates done, got {shown(value)}"
            f"{'' if loss is None else ' and a loss beside it'}. Fix: step(loss=loss.mean()), or step() alone"
        )
    return number


def odd_losses(losses: Sequence[float]) -> str | None:
    """What is odd about the first losses given by position, if they look like epoch + i / batches."""
    rises = [after - before for before, after in itertools.pairwise(losses)]
    if len(losses) < ENOUGH or not (min(rises) > 0 and max(rises) - min(rises) < 1e-6 * max(rises)):
        return None
    return (
        f"the losses given to step by position rise evenly, the last to {losses[-1]:.6g}, as epoch + i / batches does: "
        "they are read as losses. Fix: step(loss=loss)"
    )


def odd_count(updates: int, done: int, seen: bool) -> str | None:
    """What is odd about a count beside the `done` updates known, some of them `seen` as they were made.

    One that goes back, as that of epochs does, is refused.
    """
    if updates < done:
        raise ValueError(
            f"step({updates}) means that {updates} updates are done, but {done} are: the count cannot go back, and it "
            "is not that of epochs. Fix: call step() or step(loss=loss), without a number, after every "
            "optimizer.step(); where updates are replayed (CUDA graphs), count on from scheduler.global_step"
        )
    if updates == done or not seen:
        return None
    return (
        f"step({updates}) means that {updates} updates are done, but the optimizer was seen to make {done}: {updates} "
        "holds. Fix: call step() without a number (batches and samples are no updates), or load the scheduler's state "
        "when a run is resumed"
    )
