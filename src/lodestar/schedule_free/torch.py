"""Schedule-free learning for PyTorch: attaches to an optimizer you already have, and takes itself off again.

Comes in: an optimizer without momentum (`AdamW(..., betas=(0.0, 0.999))`, `SGD(...)`). Goes out: the same optimizer,
whose `step()` now moves the trained weights y; `averaged()` shows the model with its averaged weights. Two more copies
of the weights are kept. Knows no rate and no model: `LodestarLR` steers the rate as ever.

    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.0, 0.999))
    weights = ScheduleFree(optimizer)
    scheduler = LodestarLR(optimizer, "forecaster.lodestar", total_steps=1000)
    ...
        optimizer.step()
        scheduler.step(loss=loss)
    with weights.averaged():                      # validate, test and save the model in here
        scheduler.observe(metric=validate(model))

It does what `schedulefree.ScheduleFreeWrapper(optimizer, momentum=0.7, r=1, weight_lr_power=0)` does, step by step (a
test). That wrapper (1.4.1) is not used here: it keeps z in the inner optimizer's state, where Adam and RMSprop then
miss their own (KeyError: 'exp_avg'); it stops at scalar and channels_last weights; and it is no torch `Optimizer`, so
that learning rate schedulers, gradient scalers and trainers refuse it. Hooks leave the optimizer what it is.

Batch statistics belong to the weights they were made with: in a model with BatchNorm call
`torch.optim.swa_utils.update_bn(loader, model)` first, inside the `with`.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from lodestar._extras import need
from lodestar.schedule_free import INTERPOLATION, POWER, check, share

need("torch", "torch")

import torch  # noqa: E402

VERSION = 1


class ScheduleFree:
    """Makes an optimizer schedule-free as it steps. `state_dict` goes with the optimizer's own."""

    def __init__(self, optimizer: torch.optim.Optimizer, *, interpolation: float = INTERPOLATION, power: float = POWER):
        check(interpolation, power)
        _check_still(optimizer)
        self.optimizer, self.interpolation, self.power = optimizer, interpolation, power
        self.updates = 0
        self._fast: dict[torch.Tensor, torch.Tensor] = {}
        self._average: dict[torch.Tensor, torch.Tensor] = {}
        self._shown = False
        self._hooks = (
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        )

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """The model with its averaged weights, to validate, test or save; then those in training come back."""
        if self._shown:
            raise RuntimeError("averaged() is entered twice. Fix: use one `with` at a time")
        kept = {one: one.detach().clone() for one in self._average}
        _put(self._average)
        self._shown = True
        try:
            yield
        finally:
            self._shown = False
            _put(kept)

    def detach(self) -> None:
        """Stop averaging: the optimizer is as it was, the model has the averaged weights."""
        for hook in self._hooks:
            hook.remove()
        _put(self._average)
        self._fast, self._average = {}, {}

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on, by the place of each parameter in the optimizer."""
        places = [one for group in self.optimizer.param_groups for one in group["params"]]
        kept = {
            place: {"fast": self._fast[one], "average": self._average[one]}
            for place, one in enumerate(places)
            if one in self._fast
        }
        return {"lodestar averaging": VERSION, "updates": self.updates, "weights": kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`; the model's own weights are loaded as ever."""
        version = state.get("lodestar averaging")
        if version != VERSION:
            raise ValueError(
                f"this is no schedule-free state of version {VERSION} (it says {version!r}). Fix: load what "
                "ScheduleFree.state_dict() gave"
            )
        places = [one for group in self.optimizer.param_groups for one in group["params"]]
        wrong = [
            place
            for place, value in state["weights"].items()
            if place >= len(places) or places[place].shape != value["fast"].shape
        ]
        if wrong:
            raise ValueError(
                f"parameter {wrong[0]} of the saved weights does not fit the optimizer's. Fix: make model and "
                "optimizer as they were"
            )
        self.updates = int(state["updates"])
        self._fast = {places[at]: _like(value["fast"], places[at]) for at, value in state["weights"].items()}
        self._average = {places[at]: _like(value["average"], places[at]) for at, value in state["weights"].items()}

    @torch.no_grad()
    def _before(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """The optimizer steps from the fast weights, with the gradient at those in training."""
        if self._shown:
            raise RuntimeError("optimizer.step() was called within averaged(). Fix: train outside of the `with`")
        if kwargs.get("closure") or any(callable(one) for one in args if one is not optimizer):
            raise RuntimeError(
                "schedule-free updates need gradients before step(), and step(closure) makes them within. Fix: call "
                "backward() first, then step() without a closure"
            )
        for group in optimizer.param_groups:
            for one in group["params"]:
                if one in self._fast:
                    one.copy_(self._fast[one])
                elif one.grad is not None:
                    self._fast[one], self._average[one] = one.detach().clone(), one.detach().clone()

    @torch.no_grad()
    def _after(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.updates += 1
        part = share(self.updates, self.power)
        for one, fast in self._fast.items():
            fast.copy_(one)
            average = self._average[one].lerp_(fast, part)
            one.lerp_(average, self.interpolation)


@torch.no_grad()
def _put(weights: dict[torch.Tensor, torch.Tensor]) -> None:
    for one, value in weights.items():
        one.copy_(value)


def _like(value: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    return value.detach().clone().to(device=one.device, dtype=one.dtype)


def _check_still(optimizer: torch.optim.Optimizer) -> None:
    """Interpolation takes the place of momentum; both together are slow."""
    for group in optimizer.param_groups:
        betas = group.get("betas")
        first = betas[0] if isinstance(betas, tuple | list) and betas else 0.0
        if float(first) or float(group.get("momentum", 0.0)):
            said = f"betas={tuple(betas)}" if betas else f"momentum={group['momentum']}"
            raise ValueError(
                f"schedule-free averaging takes the place of momentum, and the optimizer has {said}. Fix: "
                "betas=(0.0, 0.999) for Adam's family, momentum=0 for SGD"
            )


AveragedWeights = ScheduleFree  # its name in release one
