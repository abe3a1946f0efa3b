"""Sharpness of a torch module: a module, a loss, a batch.

Comes in: a module, `loss(module, batch)` (or a criterion of torch.nn, with a batch of inputs and targets). Goes out: a
`Sharpness` with respect to the weights that learn (`requires_grad`). Products come from `torch.func`: the gradient is
recorded once and pulled back for each vector, Hv = v^T d grad / d params, so dropout, if any, holds still. The module
is judged in eval mode unless told. Nothing of it changes: weights, gradients, buffers, modes, random state. torch is
imported when something is measured.

    from lodestar_bench.curvature.torch import sharpness

    found = sharpness(model, torch.nn.CrossEntropyLoss(), (inputs, targets), seed=0)
    found = sharpness(model, lambda model, batch: model(**batch).loss, batch, seed=0)
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestar._extras import need
from lodestar_bench.curvature.edge import TOLERANCE
from lodestar_bench.curvature.operator import Operator, Vector
from lodestar_bench.curvature.sharpness import Method, Sharpness, measure

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

Loss = Callable[[Any, Any], Any]


def sharpness(
    module: "Module",
    loss: Loss,
    batch: Any,
    *,
    seed: int,
    training: bool = False,
    method: Method = "power",
    iterations: int | None = None,
    tolerance: float = TOLERANCE,
    preconditioner: "Mapping[str, Tensor] | None" = None,
) -> Sharpness:
    """The largest eigenvalue at the module's weights on this batch (256 examples are the paper's choice).

    `training=True` judges in training mode: dropout with one fixed mask drawn from `seed`, batch norm by the batch.
    `preconditioner` names for each weight what the optimizer divides its gradient by: see `adam_preconditioner`.
    `seed` also draws the first vector.
    """
    with _mode(module, training), _random_state(module, seed):
        operator, value = hessian(module, loss, batch)
        if preconditioner is not None:
            operator = operator.divided(_flat(module, preconditioner))
        return measure(
            operator,
            seed=seed,
            loss=value,
            method=method,
            iterations=iterations,
            tolerance=tolerance,
            preconditioned=preconditioner is not None,
        )


def hessian(module: "Module", loss: Loss, batch: Any) -> tuple[Operator, float]:
    """The Hessian by its products, in the order of `named_parameters()`, and the loss; modes are left as they are."""
    torch = need("torch", "torch")
    weights = _weights(module)
    buffers = {f"module.{name}": buffer.detach() for name, buffer in module.named_buffers()}
    whole = _with_loss(module, loss)

    def judged(values: "dict[str, Tensor]") -> "tuple[Tensor, Tensor]":
        own = {name: buffer.clone() for name, buffer in buffers.items()}  # cloned in here: torch.func lets these change
        return _checked(torch.func.functional_call(whole, {**own, **values}, (batch,)))

    gradient = torch.func.grad(judged, has_aux=True)
    inside = {f"module.{name}": weight.detach() for name, weight in weights.items()}
    _, pull, value = torch.func.vjp(gradient, inside, has_aux=True)
    number = _finite(float(value))
    kind = np.float64 if all(weight.dtype == torch.float64 for weight in weights.values()) else np.float32

    def product(vector: Vector) -> Vector:
        (image,) = pull(_apart(vector, inside))
        return np.concatenate([part.detach().cpu().double().numpy().ravel() for part in image.values()])

    return Operator(sum(w.numel() for w in weights.values()), product, float(np.finfo(kind).eps)), number


def adam_preconditioner(module: "Module", optimizer: "Optimizer") -> "dict[str, Tensor]":
    """What torch's Adam or AdamW divides each gradient by: D = (1 - b1^t) (sqrt(v / (1 - b2^t)) + eps), by name.

    A weight whose second moment v is 0 never had a gradient and never moved: its D is infinite, which leaves it out.
    """
    groups = {id(weight): group for group in optimizer.param_groups for weight in group["params"]}
    found = {}
    for name, weight in _weights(module).items():
        state = optimizer.state.get(weight, {})
        if "exp_avg_sq" not in state or id(weight) not in groups:
            raise ValueError(
                f"the optimizer ({type(optimizer).__name__}) holds no second moment of {name!r}. Fix: an Adam or AdamW "
                "over this module's weights, after its first step"
            )
        (b1, b2), eps, count = groups[id(weight)]["betas"], groups[id(weight)]["eps"], float(state["step"])
        second = state["exp_avg_sq"].detach().double()
        divisor = (1 - b1**count) * ((second / (1 - b2**count)).sqrt() + eps)
        found[name] = divisor.where(second > 0, float("inf"))
    return found


def _weights(module: "Module") -> "dict[str, Tensor]":
    """The weights that learn. Half precision is refused: its products are mostly rounding."""
    torch = need("torch", "torch")
    learn = (pair for pair in module.named_parameters() if pair[1].requires_grad and pair[1].numel())
    found: dict[str, Tensor] = dict(learn)
    if not found:
        raise ValueError(
            f"{type(module).__name__} has no parameter with requires_grad, so there is no Hessian. Fix: unfreeze what "
            "is trained"
        )
    for name, weight in found.items():
        if weight.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"parameter {name!r} is {weight.dtype}, and a Hessian is taken by float32 or float64 weights. Fix: "
                "measure a copy, copy.deepcopy(module).float()"
            )
    return found


def _with_loss(module: "Module", loss: Loss) -> "Module":
    """A module that holds the user's, so that the loss sees the whole of it, attributes and methods too."""
    nn = need("torch.nn", "torch")

    class WithLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, batch: Any) -> "Tensor":
            if isinstance(loss, nn.Module):
                inputs, targets = _pair(batch)
                return loss(self.module(inputs), targets)
            return loss(self.module, batch)

    return WithLoss()


def _pair(batch: Any) -> tuple[Any, Any]:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise ValueError(
            f"with a criterion of torch.nn, batch must be a pair of inputs and targets, got a {type(batch).__name__}. "
            "Fix: give loss as a function, lambda module, batch: ..."
        )
    return batch[0], batch[1]


def _checked(found: Any) -> "tuple[Tensor, Tensor]":
    torch = need("torch", "torch")
    if not isinstance(found, torch.Tensor) or found.numel() != 1:
        got = f"shape {tuple(found.shape)}" if isinstance(found, torch.Tensor) else f"a {type(found).__name__}"
        raise ValueError(f"loss(module, batch) must give a tensor of one number, got {got}. Fix: take its mean")
    return found.reshape(()), found.detach().reshape(())


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise ValueError(
            f"the loss at these weights is {value}, so it has no Hessian. Fix: weights from before the run diverged, "
            "and a batch without NaN"
        )
    return value


def _apart(vector: Vector, like: "dict[str, Tensor]") -> "dict[str, Tensor]":
    """A flat vector as tensors with the shapes, types and devices of the weights."""
    torch = need("torch", "torch")
    flat, found, first = torch.from_numpy(np.ascontiguousarray(vector, np.float64)), {}, 0
    for name, weight in like.items():
        part = flat[first : first + weight.numel()].reshape(weight.shape)
        found[name] = part.to(device=weight.device, dtype=weight.dtype)
        first += weight.numel()
    return found


def _flat(module: "Module", preconditioner: "Mapping[str, Tensor]") -> Vector:
    weights = _weights(module)
    shapes = {name: tuple(divisor.shape) for name, divisor in preconditioner.items()}
    wrong = [name for name, weight in weights.items() if shapes.get(name) != tuple(weight.shape)]
    if wrong:
        raise ValueError(
            f"preconditioner must hold a tensor of shape {tuple(weights[wrong[0]].shape)} for {wrong[0]!r}, one for "
            "each weight that learns. Fix: adam_preconditioner(module, optimizer)"
        )
    return np.concatenate([preconditioner[name].detach().cpu().double().numpy().ravel() for name in weights])


@contextlib.contextmanager
def _mode(module: "Module", training: bool) -> Iterator[None]:
    """The whole module in one mode, and every part back in its own afterwards."""
    before = {part: part.training for part in module.modules()}
    module.train(training)
    try:
        yield
    finally:
        for part, mode in before.items():
            part.training = mode


@contextlib.contextmanager
def _random_state(module: "Module", seed: int) -> Iterator[None]:
    """torch's generators at a seed, and back where they were afterwards."""
    torch = need("torch", "torch")
    devices = {weight.device for weight in module.parameters() if weight.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)):
        torch.manual_seed(seed)
        yield
