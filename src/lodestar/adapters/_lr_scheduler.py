"""`LodestarLR`: a torch LRScheduler that follows a Lodestar scheduler. For torch, Lightning and Transformers.

Comes in: an optimizer, and a forecaster or scheduler. Goes out: `group["lr"]` of every param group, before each update.
Steps are the optimizer's own updates, counted where they happen, never calls of `step()`: Accelerate calls `step()`
once for each process and not at all while it accumulates. A decision that falls due is made at the next update rather
than in `step()`, so that the validation that often follows is still heard. This file does not know trainers.
"""

import warnings
import weakref
from typing import Any

from lodestar._extras import need, update_line
from lodestar.adapters._source import Source, Steering, scheduler_of
from lodestar.scheduler import Scheduler

need("torch", "torch")

from torch import Tensor  # noqa: E402
from torch.optim import Optimizer  # noqa: E402
from torch.optim.lr_scheduler import LRScheduler  # noqa: E402

from lodestar.adapters.ranks import Ranked, many_ranks  # noqa: E402

STATE_VERSION = 1
_steered: "weakref.WeakKeyDictionary[Optimizer, weakref.ref[LodestarLR]]" = weakref.WeakKeyDictionary()


class LodestarLR(LRScheduler):
    """Steers the rate of `optimizer`: call `observe` when there is a number, and `step()` after `optimizer.step()`.

    `source` is a forecaster (file or object), with `total_steps` and any of `Scheduler`'s options, or a `Scheduler`.
    The group `reference_group` gets the scheduler's rate; the others keep their ratio to it, as set when the optimizer
    was made; groups added later are read the same way. With several ranks the scheduler is shared (`ranks.Ranked`).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        source: Source,
        total_steps: int | None = None,
        *,
        reference_group: int = 0,
        **options: Any,
    ):
        optimizer = _innermost(optimizer)
        _refuse_second(optimizer)
        steering = scheduler_of(source, total_steps, options)
        self.scheduler: Steering = Ranked(steering) if many_ranks() and isinstance(steering, Scheduler) else steering
        self.global_step = 0  # updates done
        self.lr = 0.0
        self._reference = _reference(optimizer, reference_group)
        self._ratios: list[float] = []
        self._postponed = self._warned = False
        super().__init__(optimizer)
        _steered[optimizer] = weakref.ref(self)
        self._hooks = _hooked(optimizer, self)

    @property
    def total_steps(self) -> int:
        """The planned number of updates."""
        return self.scheduler.total_steps

    def observe(self, *, loss: Any = None, metric: Any = None, step: int | None = None) -> None:
        """Report a loss or metric as of the last update made (or of `step`). Never raises.

        A number or a tensor of one element. A tensor on a device is read at once, which waits for the device: pass the
        loss every few steps if that matters; a few values in each 1/600 of the run are plenty.
        """
        self.scheduler.observe(max(self.global_step, 1) if step is None else step, loss=loss, metric=metric)

    def step(self, epoch: int | None = None, *, loss: Any = None, metric: Any = None) -> None:
        """Set the rate of the next update. Calling it twice, or not at all while accumulating, changes nothing.

        `epoch` (torch's name; here the number of updates done) is needed only where the optimizer's own `step` is not
        run by Python, such as replayed CUDA graphs; the rate is then set here and now.
        """
        if epoch is not None:
            self.global_step = int(epoch)
        elif self.global_step == 0 and not self._warned:
            self._warned = True
            warnings.warn(
                "step() was called, but no update has been made: the rate stays that of the first update. "
                "Fix: call optimizer.step() first, or pass the number of updates done: step(n)",
                UserWarning,
                stacklevel=2,
            )
        if loss is not None or metric is not None:
            self.observe(loss=loss, metric=metric)
        self._postponed = epoch is None and self.global_step + 1 >= self.scheduler.next_decision()
        if not self._postponed:
            self._apply()
        elif isinstance(self.scheduler, Ranked):
            self.scheduler.reduce(self.global_step)

    def get_lr(self) -> list[float | Tensor]:
        """The rate of each param group, as last set."""
        groups = len(self.optimizer.param_groups)
        if len(self._ratios) < groups:
            self._read_ratios()
        return [self.lr * ratio for ratio in self._ratios[:groups]]

    def extend(self, total_steps: int) -> None:
        """Change the length of the run; what is left is planned anew."""
        self.scheduler.extend(total_steps)
        self._apply()

    def detach(self) -> None:
        """Leave the optimizer alone from here on; another scheduler may take over."""
        for hook in self._hooks:
            hook.remove()
        _steered.pop(self.optimizer, None)

    def state_dict(self) -> dict[str, Any]:
        """Plain data: passes `torch.load(weights_only=True)`."""
        return {
            "lodestar": STATE_VERSION,
            "global_step": self.global_step,
            "lr": self.lr,
            "postponed": self._postponed,
            "reference": self._reference,
            "ratios": list(self._ratios),
            "scheduler": self.scheduler.state_dict(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, before or after the optimizer's own state is loaded."""
        _check_state(state_dict)
        self.scheduler.load_state_dict(state_dict["scheduler"])
        self.global_step = int(state_dict["global_step"])
        self._reference = float(state_dict["reference"])
        self._ratios = [float(ratio) for ratio in state_dict["ratios"]]
        self._postponed = bool(state_dict["postponed"])
        self._write(float(state_dict["lr"]))

    def _initial_step(self) -> None:
        """Called by torch at the end of its own construction."""
        self._apply()

    def _apply(self) -> None:
        self._postponed = False
        self._write(self.scheduler.lr_at(self.global_step + 1))

    def _write(self, lr: float) -> None:
        self.lr = lr
        self.last_epoch, self._step_count = self.global_step, self.global_step + 1  # what torch and Accelerate look at
        self._last_lr = []
        for group, value in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(value)  # in place: a captured graph reads this very tensor
            else:
                group["lr"] = value
            self._last_lr.append(_copied(group["lr"]))

    def _read_ratios(self) -> None:
        """Of groups not seen before; a group's rate is read as it was when it was made."""
        for group in self.optimizer.param_groups[len(self._ratios) :]:
            self._ratios.append(float(group.setdefault("initial_lr", _copied(group["lr"]))) / self._reference)

    def _before_update(self) -> None:
        if self._postponed or len(self._last_lr) != len(self.optimizer.param_groups):
            self._apply()

    def _after_update(self) -> None:
        if not self._silenced():
            self.global_step += 1

    def _silenced(self) -> bool:
        """Whether someone set the rate to 0: torch's distributed checkpoint makes such a step to create the state."""
        rate = self.optimizer.param_groups[0]["lr"]
        return not isinstance(rate, Tensor) and rate == 0.0 != self.lr


def _hooked(optimizer: Optimizer, scheduler: LodestarLR) -> list[Any]:
    """Watch the optimizer's updates, without keeping the scheduler alive."""
    weak = weakref.ref(scheduler)

    def before(*_: Any) -> None:
        if (alive := weak()) is not None:
            alive._before_update()

    def after(*_: Any) -> None:
        if (alive := weak()) is not None:
            alive._after_update()

    return [optimizer.register_step_pre_hook(before), optimizer.register_step_post_hook(after)]


def _innermost(optimizer: Optimizer) -> Optimizer:
    """The optimizer that makes the updates, within the wrappers of Accelerate and others."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = inner
    if not isinstance(optimizer, Optimizer):
        raise ValueError(
            f"optimizer must be a torch.optim.Optimizer, got {type(optimizer).__name__}. "
            "Fix: pass the optimizer first, then the forecaster"
        )
    return optimizer


def _refuse_second(optimizer: Optimizer) -> None:
    other = _steered.get(optimizer)
    if other is not None and other() is not None:
        raise ValueError(
            "this optimizer already has a LodestarLR, and two would overwrite each other's rates. "
            "Fix: use the first one, call its detach(), or make a new optimizer"
        )


def _reference(optimizer: Optimizer, index: int) -> float:
    groups = optimizer.param_groups
    if not 0 <= index < len(groups):
        raise ValueError(f"reference_group must be 0 to {len(groups) - 1}, got {index}. Fix: leave it at 0")
    rate = float(groups[index].get("initial_lr", groups[index]["lr"]))
    if not rate > 0:
        raise ValueError(
            f"param group {index} has lr {rate}, but the groups' rates are kept as ratios to it. "
            "Fix: make the optimizer with lr > 0 (any value: it is steered), or name another reference_group"
        )
    return rate


def _check_state(state: dict[str, Any]) -> None:
    version = state.get("lodestar")
    if not isinstance(version, int):
        raise ValueError(
            f"this is not the state of a LodestarLR (keys {sorted(map(str, state))[:5]}). "
            "Fix: resume from a checkpoint of a steered run, or leave the scheduler's state unloaded"
        )
    if version > STATE_VERSION:
        raise ValueError(
            f"this state has version {version}, this Lodestar reads up to {STATE_VERSION}. Fix: {update_line()}"
        )


def _copied(lr: float | Tensor) -> float | Tensor:
    return lr.clone() if isinstance(lr, Tensor) else lr
