"""JAX and Optax: a new plan compiles nothing anew. python examples/optax_loop.py forecaster.lodestar"""

import sys

import jax
import jax.numpy as jnp
import optax
from sklearn.datasets import load_digits

from lodestar.adapters.optax import LodestarSchedule

images, labels = map(jnp.asarray, load_digits(return_X_y=True))
schedule = LodestarSchedule(sys.argv[1], total_steps=400)  # 1
optimizer = optax.inject_hyperparams(optax.adam)(learning_rate=schedule)  # 2


def logits_of(params, picked):
    return jnp.tanh(images[picked] / 16 @ params[0]) @ params[1]


def loss_of(params, picked):
    return optax.softmax_cross_entropy_with_integer_labels(logits_of(params, picked), labels[picked]).mean()


@jax.jit
def train_step(params, opt_state, picked):
    loss, grads = jax.value_and_grad(loss_of)(params, picked)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


params = [0.1 * jax.random.normal(jax.random.key(n), (n, out)) for n, out in ((64, 32), (32, 10))]
opt_state = optimizer.init(params)
for step in range(1, 401):
    params, opt_state, loss = train_step(params, opt_state, (step * 64 + jnp.arange(64)) % 1280)
    accuracy = None
    if step % 20 == 0:
        accuracy = (logits_of(params, slice(1280, None)).argmax(1) == labels[1280:]).mean()
        print(f"step {step:4d}  lr {opt_state.hyperparams['learning_rate']:.2e}  accuracy {accuracy:.3f}")
    opt_state = schedule.steer(opt_state, step, loss=loss, metric=accuracy)  # 3
