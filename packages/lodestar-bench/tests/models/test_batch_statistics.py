"""Weights that are averaged are judged with batch statistics of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.method import Optimizer
from lodestar_bench.methods import method
from lodestar_bench.models import layers
from lodestar_bench.models.model import Model
from lodestar_bench.optimizers.plain import plain
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.training import Training

WIDTH = 5


def normalised() -> Model:
    """A dense layer, batch norm, a dense layer."""

    def begin(draw):
        norm, state = layers.batch_norm_begin(WIDTH)
        weights = {"in": layers.dense_begin(draw, 3, WIDTH), "norm": norm, "out": layers.dense_begin(draw, WIDTH, 2)}
        return weights, {"norm": state}

    def apply(params, state, x, key):
        hidden = layers.dense(params["in"], x)[:, None, None, :]
        hidden, norm = layers.batch_norm(params["norm"], state["norm"], hidden, learning=key is not None)
        return layers.dense(params["out"], jax.nn.relu(hidden[:, 0, 0])), {"norm": norm}

    return Model(begin, apply, lambda params: params["out"]["weight"])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(2.0, 1.0, (640, 3)).astype(np.float32)
    rows = Rows(x, (x.sum(axis=1) > 6).astype(np.int32))
    return Classification(
        task="normalised",
        scale="smoke",
        recipe=TrainingRecipe("sgd", rates=(0.001, 0.01)),
        model=normalised(),
        splits=Splits(rows[:512], rows[512:576], rows[576:]),
        batch_size=16,
        epochs=2,
        looks_per_epoch=1,
        convolutional=False,
    )


def tripled(params, state):
    """Weights to judge by that no update ever saw."""
    return jax.tree.map(lambda leaf: 3 * leaf, params)


def advanced(problem, optimizer):
    training = Training(problem, optimizer, seed=1, first_rate=0.01)
    training.advance([0.01] * 32)
    return training


def true_mean(problem, params):
    """Of the first layer's outputs, over all that is learned from."""
    return np.asarray(layers.dense(params["in"], jnp.asarray(problem.splits.train.inputs))).mean(axis=0)


def test_averaged_weights_get_statistics_of_their_own(problem):
    own = plain(problem.recipe)
    training = advanced(problem, Optimizer(own.init, own.update, tripled, averaged=True))
    look, trained = training.look(), training._position
    assert not np.allclose(trained.state["norm"]["mean"], true_mean(problem, look.params), rtol=0.3)
    left = 0.9**20  # of the statistics that were there before
    expected = left * trained.state["norm"]["mean"] + (1 - left) * true_mean(problem, look.params)
    np.testing.assert_allclose(look.state["norm"]["mean"], expected, rtol=0.1)


def test_a_second_look_changes_nothing_and_training_goes_on_as_if_no_one_had_looked(problem):
    own = plain(problem.recipe)
    averaged = Optimizer(own.init, own.update, tripled, averaged=True)
    seen, unseen = advanced(problem, averaged), advanced(problem, averaged)
    one, other = seen.look(), seen.look()
    assert jax.tree.all(jax.tree.map(np.array_equal, one.state, other.state))
    np.testing.assert_array_equal(seen.advance([0.01] * 8), unseen.advance([0.01] * 8))


def test_weights_as_they_are_trained_keep_the_running_statistics(problem):
    training = advanced(problem, plain(problem.recipe))
    assert training.look().state is training._position.state


def test_schedule_free_says_that_it_averages(problem):
    assert method("schedule-free").optimizer(problem, 0.01).averaged
    assert not method("prodigy").optimizer(problem, 0.01).averaged
