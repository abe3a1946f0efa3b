"""`LodestarLR`: a torch LRScheduler that follows a Lodestar scheduler. For torch, Lightning and Transformers.

Comes in: an optimizer, and a forecaster or scheduler. Goes out: `group["lr"]` of every param group, before each update.
Steps are the optimizer's own updates, counted where they happen, never calls of `step()`: Accelerate calls `step()`
once for each process and not at all while it accumulates. A decision that falls due is made at the next update rather
than in `step()`, so that the validation that often follows is still heard. This file does not know trainers.
"""

import operator
import weakref
from collections.abc import Mapping
from typing import Any

from lodestar._extras import need, update_line
from lodestar._plain import number, numbers, whole
from lodestar.adapters._source import Source, Steering, close, notice, scheduler_of
from lodestar.adapters._state_file import refusing_damage
from lodestar.adapters._steered import SteeredJob
from lodestar.adapters._step_argument import ENOUGH, loss_of, odd_count, odd_losses
from lodestar.scheduler import Scheduler
from lodestar.scheduler.inputs import count_of, number_of, shown
from lodestar.scheduler.safety import checks

need("torch", "torch")

from torch import Tensor  # noqa: E402
from torch.optim import Optimizer  # noqa: E402
from torch.optim.lr_scheduler import LRScheduler  # noqa: E402

from lodestar.adapters._param_groups import ParamGroups, copied, reference_of  # noqa: E402
from lodestar.adapters.ranks import Ranked, many_ranks  # noqa: E402

STATE_VERSION = 1
_IDLE = 10_000  # calls of step() without an update; Accelerate makes one for each process
_steered: "weakref.WeakKeyDictionary[Optimizer, weakref.ref[LodestarLR]]" = weakref.WeakKeyDictionary()


class LodestarLR(SteeredJob, LRScheduler):
    """Steers the rate of `optimizer`: call `observe` when there is a number, and `step()` after `optimizer.step()`.

    `source` is a forecaster (file or object), with `total_steps` and any of `Scheduler`'s options, or a `Scheduler`.
    The group `reference_group` gets the scheduler's rate; the others keep their ratio to it, as set when the optimizer
    was made; groups added later are read the same way. `min_lr` and `max_lr` hold for every group; without them none is
    driven above both the highest rate past runs survived and its own initial rate. With several ranks the scheduler is
    shared (`ranks.Ranked`). Copied or pickled together with its optimizer, the copy steers the copied optimizer.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        source: Source,
        total_steps: int | None = None,
        *,
        reference_group: int = 0,
        job: Mapping[str, Any] | None = None,
        **options: Any,
    ):
        optimizer = _innermost(optimizer)
        _refuse_second(optimizer)
        reference = reference_of(optimizer, reference_group)
        known = {"optimizer": type(optimizer).__name__, "parameters": _size(optimizer) or None, "lr": reference}
        known |= {"weight_decay": _weight_decay(optimizer, reference_group), **(job or {})}
        steering = scheduler_of(source, total_steps, options, **known)
        self.scheduler: Steering = Ranked(steering) if many_ranks() and isinstance(steering, Scheduler) else steering
        self.global_step = 0  # updates done
        self.lr = 0.0
        self._groups = ParamGroups(reference)
        self._postponed = False
        self._counted = False  # whether updates were seen since a count was last given
        self._idle = 0  # calls of step() since the last update
        self._by_position: list[float] = []  # the first losses that were given by position
        self._calls = self._overruled = 0  # calls of step(), and how often someone else set the rate
        self._lost = False  # whether someone has since we last did
        self._begun = 0  # updates made when counting began
        self._made = [0]  # `global_step`, for when this object is gone
        super().__init__(optimizer)
        self._attach()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_hooks": bool(self._hooks)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        attached, self._hooks = self._hooks, []
        if attached:
            self._attach()

    @property
    def total_steps(self) -> int:
        """The planned number of updates."""
        return self.scheduler.total_steps

    @property
    def _updates(self) -> int:
        return self.global_step

    def observe(
        self, *unnamed: Any, loss: Any = None, metric: Any = None, step: int | None = None, **unknown: Any
    ) -> None:
        """Report a loss or metric, by its name, as of the last update made (or of `step`). Never raises.

        A number or a tensor of one element. A tensor on a device is read at once, which waits for the device: pass the
        loss every few steps if that matters; a few values in each 1/600 of the run are plenty.
        """
        self._observe(self.global_step, unnamed, unknown, step, loss, metric)

    def step(self, epoch: Any = None, *, loss: Any = None, metric: Any = None) -> None:
        """Set the rate of the next update. Calling it twice, or not at all while accumulating, changes nothing.

        `epoch` (torch's name) may be the loss, as for ReduceLROnPlateau: any number that is not of a whole-number type.
        A whole number is the number of updates done. It is needed only where the optimizer's own `step` is not run by
        Python, such as replayed CUDA graphs; the rate is then set here and now. It never goes back: a number of epochs
        is refused.
        """
        self._calls += 1
        self._check_rate(applied=False)
        if epoch is not None and count_of(epoch) is None:
            epoch, loss = None, self._positional_loss(epoch, loss)
        if epoch is not None:
            self._take_count(operator.index(epoch))
        else:
            self._look_for_updates()
        if loss is not None or metric is not None:
            self.observe(loss=loss, metric=metric)
        self._postponed = epoch is None and self.global_step + 1 >= self.scheduler.next_decision()
        if not self._postponed:
            self._apply()
        elif isinstance(self.scheduler, Ranked):
            self.scheduler.reduce(self.global_step)

    def get_lr(self) -> list[float | Tensor]:
        """The rate of each param group, as last set."""
        return self._groups.rates(self.optimizer, self.lr, self.scheduler.caps, self._say)

    def extend(self, total_steps: int) -> None:
        """Change the length of the run; what is left is planned anew."""
        self.scheduler.extend(total_steps)
        self._apply()

    def detach(self) -> None:
        """Leave the optimizer alone from here on; another scheduler may take over."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self.close()
        _steered.pop(self.optimizer, None)

    def state_dict(self) -> dict[str, Any]:
        """Plain data: passes `torch.load(weights_only=True)`."""
        return {
            "lodestar": STATE_VERSION,
            "global_step": self.global_step,
            "lr": self.lr,
            "postponed": self._postponed,
            "reference": self._groups.reference,
            "ratios": list(self._groups.ratios),
            "scheduler": self.scheduler.state_dict(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, before or after the optimizer's own state is loaded."""
        _check_state(state_dict)
        with refusing_damage():
            inner, postponed = state_dict["scheduler"], bool(whole(int(state_dict["postponed"]), "postponed", 0, 1))
            step, ratios = whole(state_dict["global_step"], "global_step"), numbers(state_dict["ratios"], "ratios", 0)
            reference, lr = number(state_dict["reference"], "reference", 0), number(state_dict["lr"], "lr", 0)
            if not reference > 0:
                raise ValueError(f"reference must be above 0, got {reference}")
        self.scheduler.load_state_dict(inner)
        self.global_step, self._groups.reference, self._groups.ratios = step, reference, ratios
        self._postponed, self._counted, self._idle = postponed, False, 0
        self._begun = self._made[0] = step
        self._calls = 0
        caps = self.scheduler.caps
        self._write(lr if caps is None else caps.within(lr))

    def _initial_step(self) -> None:
        """Called by torch at the end of its own construction."""
        self._apply()

    def _attach(self) -> None:
        _steered[self.optimizer] = weakref.ref(self)
        self._hooks = _hooked(self.optimizer, self)
        weakref.finalize(self, _forgotten, self.scheduler, self._made)

    def _positional_loss(self, value: Any, loss: Any) -> float:
        number = loss_of(value, loss)
        if len(self._by_position) < ENOUGH:
            self._by_position.append(number)
            if (text := odd_losses(self._by_position)) is not None:
                self._say("epochs", text)
        return number

    def _take_count(self, updates: int) -> None:
        if (text := odd_count(updates, self.global_step, self._counted)) is not None:
            self._say("count", text)
        self.global_step, self._counted, self._idle = updates, False, 0

    def _look_for_updates(self) -> None:
        """Warn if step() is called again and again and no update is made."""
        self._idle += 1
        if self._idle == (1 if self.global_step == 0 else _IDLE):
            self._say(
                "no update",
                "step() was called, but no update has been made: the rate stays as it is. Fix: call optimizer.step() "
                "first, on the steered optimizer (not on a copy), or pass the number of updates done: step(n)",
            )

    def _apply(self) -> None:
        self._postponed = False
        self._write(self.scheduler.lr_at(self.global_step + 1))

    def _write(self, lr: float) -> None:
        self.lr, self._lost = lr, False
        self.last_epoch, self._step_count = self.global_step, self.global_step + 1  # what torch and Accelerate look at
        self._last_lr = []
        for group, value in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(value)  # in place: a captured graph reads this very tensor
            else:
                group["lr"] = value
            self._last_lr.append(copied(group["lr"]))

    def _before_update(self) -> None:
        self._check_rate(applied=not self._postponed)
        if self._postponed or len(self._last_lr) != len(self.optimizer.param_groups):
            self._apply()

    def _after_update(self) -> None:
        if not self._silenced():
            self.global_step += 1
            self._counted, self._idle = True, 0
            self._made[0] = self.global_step
            self._check_counts()

    def _check_rate(self, applied: bool) -> None:
        """Three rates that are not ours are no accident, whether an update was `applied` at them or ours came after."""
        rate = self.optimizer.param_groups[0]["lr"]
        if type(rate) is float and rate != self._last_lr[0] and rate != 0.0 and not self._lost:
            self._lost = True
            self._overruled += 1
            if self._overruled == 3:
                finding = checks.overruled(rate, float(self._last_lr[0]), self.global_step + 1, applied)
                notice(self.scheduler, finding)

    def _check_counts(self) -> None:
        """After 2 and 5 % of the run, on one rank: on several, Accelerate calls step() once for each."""
        made, total = self.global_step - self._begun, self.total_steps
        if made in (max(5, round(checks.FIRST * total)), max(10, round(checks.SECOND * total))) and not many_ranks():
            # the call that belongs to this update comes after it
            notice(self.scheduler, checks.counted(made, self._calls + 1 if self._calls else 0, total))

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


def _forgotten(scheduler: Steering, made: list[int]) -> None:
    """Nobody closed it: the object is gone, or Python ends."""
    if made[0]:
        close(scheduler, made[0])


def _weight_decay(optimizer: Optimizer, group: int) -> float | None:
    found = number_of(optimizer.param_groups[group].get("weight_decay"))
    return found if found is not None and found >= 0 else None


def _size(optimizer: Optimizer) -> int:
    return sum(weights.numel() for group in optimizer.param_groups for weights in group["params"])


def _check_state(state: dict[str, Any]) -> None:
    version = state.get("lodestar") if isinstance(state, dict) else None
    if not isinstance(version, int):
        raise ValueError(
            f"this is not the state of a LodestarLR (got {shown(list(state) if isinstance(state, dict) else state)}). "
            "Fix: resume from a checkpoint of a steered run, or leave the scheduler's state unloaded"
        )
    if version > STATE_VERSION:
        raise ValueError(
            f"this state has version {version}, this Lodestar reads up to {STATE_VERSION}. Fix: {update_line()}"
        )
