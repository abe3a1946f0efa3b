"""Sharpness of torch modules, against dense Hessians and against JAX; the module stays as it was."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from lodestar_bench.curvature.torch import adam_preconditioner, hessian, sharpness


@pytest.fixture(autouse=True)
def one_thread():
    """Nets this small only wait for a second thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def batch():
    made = torch.Generator().manual_seed(1)
    return torch.randn(32, 5, generator=made), torch.randint(0, 3, (32,), generator=made)


@pytest.fixture
def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)).double()


@pytest.fixture
def full():
    """A net with everything that remembers or draws."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


def dense(module, loss):
    """The whole Hessian, row by row, in the order of named_parameters()."""
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    grads = torch.autograd.grad(loss, weights, create_graph=True)
    flat = torch.cat([grad.reshape(-1) for grad in grads])
    rows = torch.autograd.grad(flat, weights, torch.eye(len(flat), dtype=flat.dtype), is_grads_batched=True)
    return torch.cat([part.reshape(len(flat), -1) for part in rows], dim=1).numpy()


def test_the_dense_hessian_says_the_same(net, batch):
    pair = (batch[0].double(), batch[1])
    values = np.linalg.eigvalsh(dense(net, nn.functional.cross_entropy(net(pair[0]), pair[1])))
    by_power = sharpness(net, nn.CrossEntropyLoss(), pair, seed=0, tolerance=1e-3, iterations=1000)
    by_lanczos = sharpness(net, nn.CrossEntropyLoss(), pair, seed=1, method="lanczos", tolerance=1e-6)
    assert by_power.converged and by_lanczos.converged
    assert by_power.value == pytest.approx(values[-1], rel=1e-5)
    assert by_lanczos.value == pytest.approx(values[-1], rel=1e-6)
    assert by_lanczos.lowest is not None
    assert by_lanczos.lowest.value == pytest.approx(values[0], abs=1e-6 * values[-1])
    assert by_power.parameters == len(values)


def test_the_same_net_in_jax_says_the_same(net, batch):
    import jax.numpy as jnp
    import optax

    from lodestar_bench.curvature import jax as in_jax

    net = net.float()
    first, bias, second, last = (jnp.asarray(weight.detach().numpy()) for weight in net.parameters())

    def loss(params, batch):
        hidden = jnp.tanh(batch[0] @ params[0].T + params[1])
        return optax.softmax_cross_entropy_with_integer_labels(hidden @ params[2].T + params[3], batch[1]).mean()

    there = in_jax.sharpness(loss, [first, bias, second, last], tuple(part.numpy() for part in batch), seed=3)
    here = sharpness(net, nn.CrossEntropyLoss(), batch, seed=3)
    assert type(there) is type(here)
    assert here.value == pytest.approx(there.value, rel=1e-4)
    assert here.products == there.products


def test_the_loss_may_be_any_function_of_the_module_and_the_batch(net, batch):
    pair = (batch[0].double(), batch[1])

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["x"]), batch["y"]) + 0 * model[0].bias.sum()

    by_hand = sharpness(net, loss, {"x": pair[0], "y": pair[1]}, seed=0)
    assert by_hand == sharpness(net, nn.CrossEntropyLoss(), pair, seed=0)


@pytest.mark.parametrize("training", [False, True])
def test_nothing_of_the_module_changes(full, batch, training):
    nn.functional.cross_entropy(full(batch[0]), batch[1]).backward()
    full.train()
    full[1].eval()  # a frozen part in a module that trains
    before = copy.deepcopy(full.state_dict())
    grads = [weight.grad.clone() for weight in full.parameters()]
    modes, drawn = [part.training for part in full.modules()], torch.random.get_rng_state()
    sharpness(full, nn.CrossEntropyLoss(), batch, seed=0, training=training)
    assert all(torch.equal(value, before[name]) for name, value in full.state_dict().items())
    assert all(torch.equal(weight.grad, grad) for weight, grad in zip(full.parameters(), grads, strict=True))
    assert [part.training for part in full.modules()] == modes
    assert torch.equal(torch.random.get_rng_state(), drawn)


def test_a_failure_leaves_the_modes_as_they_were(full, batch):
    full.train()
    full[1].eval()
    modes = [part.training for part in full.modules()]
    with pytest.raises(ValueError, match="one number"):
        sharpness(full, lambda model, batch: model(batch[0]), batch, seed=0)
    assert [part.training for part in full.modules()] == modes


def test_eval_mode_is_judged_unless_told(full, batch):
    full.train()
    judged = sharpness(full, nn.CrossEntropyLoss(), batch, seed=0, method="lanczos")
    judged_again = sharpness(full.eval(), nn.CrossEntropyLoss(), batch, seed=0, method="lanczos")
    trained = sharpness(full, nn.CrossEntropyLoss(), batch, seed=0, method="lanczos", training=True)
    assert judged == judged_again
    assert trained.loss != judged.loss


def test_in_training_mode_dropout_holds_still(full, batch):
    options = {"seed": 0, "training": True, "method": "lanczos", "tolerance": 1e-4}
    found = sharpness(full, nn.CrossEntropyLoss(), batch, **options)
    assert found.converged  # a mask that changed would never let a residual vanish
    assert found == sharpness(full, nn.CrossEntropyLoss(), batch, **options)


def test_frozen_weights_do_not_count(net, batch):
    pair = (batch[0].double(), batch[1])
    net[0].requires_grad_(False)
    values = np.linalg.eigvalsh(dense(net, nn.functional.cross_entropy(net(pair[0]), pair[1])))
    found = sharpness(net, nn.CrossEntropyLoss(), pair, seed=0, method="lanczos", tolerance=1e-6)
    assert found.parameters == 21 == len(values)
    assert found.value == pytest.approx(values[-1], rel=1e-6)


def test_tied_weights_count_once(batch):
    first = nn.Linear(5, 5, bias=False).double()
    net = nn.Sequential(first, nn.Tanh(), first)
    pair = (batch[0].double(), batch[1])
    values = np.linalg.eigvalsh(dense(net, nn.functional.cross_entropy(net(pair[0]), pair[1])))
    found = sharpness(net, nn.CrossEntropyLoss(), pair, seed=0, method="lanczos", tolerance=1e-6)
    assert found.parameters == 25
    assert found.value == pytest.approx(values[-1], rel=1e-6)


def test_adams_preconditioner_is_what_its_step_divides_by(net, batch):
    pair = (batch[0].double(), batch[1])
    adam = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.8, 0.99))
    before = []
    for _ in range(3):
        before = [weight.detach().clone() for weight in net.parameters()]
        adam.zero_grad()
        nn.functional.cross_entropy(net(pair[0]), pair[1]).backward()
        adam.step()
    divisor = adam_preconditioner(net, adam)
    for (name, weight), old in zip(net.named_parameters(), before, strict=True):
        torch.testing.assert_close(old - weight, 1e-2 * adam.state[weight]["exp_avg"] / divisor[name])
    found = sharpness(
        net, nn.CrossEntropyLoss(), pair, seed=0, method="lanczos", preconditioner=divisor, tolerance=1e-8
    )
    flat = np.concatenate([part.numpy().ravel() for part in divisor.values()])
    whole = dense(net, nn.functional.cross_entropy(net(pair[0]), pair[1]))
    assert found.value == pytest.approx(np.linalg.eigvals(whole / flat[:, None]).real.max(), rel=1e-6)


def test_a_loss_that_is_linear_in_the_weights_has_sharpness_zero(batch):
    found = sharpness(nn.Linear(5, 1), lambda model, batch: model(batch[0]).mean(), batch, seed=0)
    assert (found.value, found.converged) == (0.0, True)


def test_products_work_under_no_grad(net, batch):
    with torch.no_grad():
        operator, _ = hessian(net, nn.CrossEntropyLoss(), (batch[0].double(), batch[1]))
        assert np.abs(operator(np.ones(operator.size))).max() > 0


@pytest.mark.parametrize(
    ("module", "loss", "words"),
    [
        (nn.ReLU(), lambda model, batch: model(batch[0]).mean(), "ReLU has no parameter with requires_grad"),
        (nn.Linear(5, 3).half(), nn.CrossEntropyLoss(), "'weight' is torch.float16"),
        (nn.Linear(5, 3), lambda model, batch: model(batch[0]).mean() * torch.nan, "the loss at these weights is nan"),
        (nn.Linear(5, 3), lambda model, batch: model(batch[0]).mean(0), r"one number, got shape \(3,\)"),
        (nn.Linear(5, 3), lambda model, batch: 1.0, "one number, got a float"),
    ],
)
def test_what_has_no_hessian_is_told(module, loss, words, batch):
    with pytest.raises(ValueError, match=words):
        sharpness(module, loss, batch, seed=0)


def test_a_criterion_needs_a_pair(net):
    with pytest.raises(ValueError, match="a pair of inputs and targets, got a dict"):
        sharpness(net, nn.CrossEntropyLoss(), {}, seed=0)


def test_an_optimizer_without_second_moments_is_told(net):
    with pytest.raises(ValueError, match=r"\(SGD\) holds no second moment of '0.weight'"):
        adam_preconditioner(net, torch.optim.SGD(net.parameters(), lr=0.1))
