"""The scale of a run from its facts: under people's names, never guessed in silence."""

import pytest
from tests.curves import toy_runs

from lodestar.runs import Facts
from lodestar.runs.scale import EPOCHS, Scale, contradictions, optimizer_key, read_scale, scale_of

RUN = toy_runs(seeds=1)[0]


def run(**extra):
    return RUN.replace(facts=Facts(extra=extra.pop("extra", extra)))


def test_all_that_a_config_states_is_known():
    extra = {"model/hidden_size": "64", "n_params": 5e4, "train.batchSize": 32, "optimizer.name": "AdamW", "wd": 0}
    found = scale_of(run(extra=extra))
    steps = float(RUN.total_steps)
    assert found == Scale(5e4, 64.0, 32.0, steps, 32 * steps, "AdamW", 0.0)
    assert found.size == ("width", 64.0)
    assert contradictions(run(extra=extra)) == []


def test_a_run_that_states_nothing_has_its_steps_alone():
    assert scale_of(run()) == Scale(total_steps=float(RUN.total_steps))
    assert scale_of(run()).size is None


def test_a_size_is_a_width_unless_parameters_are_stated():
    assert scale_of(run(size=16)).size == ("width", 16.0)
    assert scale_of(run(size=16, params=1000)).size == ("parameters", 1000.0)
    assert scale_of(run(size=16, width=256)).size == ("width", 256.0)
    assert scale_of(run(size="small")).size is None


@pytest.mark.parametrize("key", ["image.width", "data/size", "dataset.size", "teacher.hidden_size"])
def test_what_is_not_the_model_has_no_say(key):
    assert scale_of(run(extra={key: 224})).size is None


def test_a_batch_of_the_evaluation_is_not_that_of_training():
    assert (
        scale_of(run(extra={"eval.batch_size": 512, "eval_batch_size": 256, "train.batch_size": 32})).batch_size == 32
    )


@pytest.mark.parametrize("value", [0, -4, float("nan"), float("inf"), "0", "nan", -1])
@pytest.mark.parametrize("key", ["width", "size", "n_params", "batch_size"])
def test_a_size_that_cannot_be_is_not_known_and_said(key, value):
    found = read_scale(run(extra={key: value}))
    assert found.scale == Scale(total_steps=float(RUN.total_steps)) and found.sources == {}
    (sentence,) = found.sentences
    assert key in sentence and "above 0" in sentence and "Fix:" in sentence


@pytest.mark.parametrize(
    ("extra", "fact"),
    [
        ({"batch_size": 32, "train_batch_size": 64}, "batch_size"),
        ({"width": 16, "model.d_model": 64}, "width"),
        ({"n_params": 10, "parameters": 20}, "parameters"),
        ({"optimizer": "SGD", "optim": "adamw"}, "optimizer"),
        ({"wd": 0.1, "weight_decay": 0.2}, "weight_decay"),
        ({"a.width": 16, "b.width": 64}, "width"),
    ],
)
def test_two_values_of_one_meaning_are_not_chosen_from(extra, fact):
    assert getattr(scale_of(run(extra=extra)), fact) is None
    (sentence,) = contradictions(run(extra=extra))
    assert all(key in sentence for key in extra) and f"--fact {fact}=" in sentence


def test_one_value_under_two_names_is_no_contradiction():
    extra = {"batch_size": 32, "bs": "32", "optimizer": "torch.optim.AdamW", "optim": "adamw_torch_fused"}
    assert contradictions(run(extra=extra)) == []
    assert scale_of(run(extra=extra)).batch_size == 32.0


def test_trainable_parameters_beside_all_are_no_contradiction():
    found = read_scale(run(total_params=100, trainable_params=90))
    assert found.scale.parameters == 100 and not found.troubles
    assert scale_of(run(trainable_params=90)).parameters == 90


def test_the_batch_of_an_update_is_over_devices_and_accumulation():
    extra = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "world_size": 2}
    found = read_scale(run(extra=extra))
    assert found.scale.batch_size == 64
    assert found.sources["batch_size"] == " x ".join(extra)
    assert scale_of(run(extra={**extra, "train_batch_size": 8})).batch_size == 64  # as a TrainerState repeats it
    stated = read_scale(run(extra={**extra, "global_batch_size": 64}))
    assert stated.scale.batch_size == 64 and stated.sources["batch_size"] == "global_batch_size"
    two = read_scale(run(extra={"global_batch_size": 64, "per_device_batch_size": 8, "world_size": 2}))
    assert two.scale.batch_size == 64 and not two.troubles  # accumulation is not stated


@pytest.mark.parametrize(
    "extra",
    [
        {"batch_size": 32, "accumulate_grad_batches": 4},
        {"batch_size": 32, "world_size": 8},
        {"batch_size": 32, "per_device_batch_size": 8},
        {"global_batch_size": 100, "device_batch_size": 8, "world_size": 2, "grad_accum_steps": 4},
        {"global_batch_size": 50, "device_batch_size": 16, "world_size": 2},
    ],
)
def test_a_batch_that_may_mean_two_things_is_not_known_and_said(extra):
    found = read_scale(run(extra=extra))
    assert found.scale.batch_size is None and "batch_size" not in found.sources
    assert len(found.troubles) == 1 and "global_batch_size" in found.sentences[0]


def test_no_accumulation_leaves_a_batch_as_it_is():
    assert scale_of(run(batch_size=32, accumulate_grad_batches=1, gpus=0)).batch_size == 32.0


def test_samples_are_as_stated_tokens_first_and_else_counted():
    assert scale_of(run(total_tokens=1e9, samples_seen=5, batch_size=2)).samples == 1e9
    assert scale_of(run(batch_size=2)).samples == 2 * RUN.total_steps
    assert scale_of(run(batch_size=2, num_input_tokens_seen=0)).samples == 2 * RUN.total_steps


def test_epochs_are_no_updates():
    found = scale_of(run(extra={EPOCHS: True, "batch_size": 2}))
    assert found.total_steps is None and found.samples is None


def test_what_the_user_said_at_import_counts_alone():
    extra = {"width": 224, "d_model": 64, "lodestar_width": 64, "batch_size": 8, "lodestar_batch_size": "none"}
    found = read_scale(run(extra=extra))
    assert found.scale.width == 64 and found.scale.batch_size is None and not found.troubles


def test_spellings_of_an_optimizer():
    assert len({optimizer_key(name) for name in ("torch.optim.AdamW", "adam_w", "adamw_torch", "AdamW")}) == 1
    assert optimizer_key("SGD") != optimizer_key("AdamW")


def test_runs_of_different_widths_are_not_ranked_together():
    assert Facts(task="digits", extra={"size": 16}).workload == "digits size=16"
    assert Facts(task="digits", extra={"model.hidden_size": 16, "n_params": 300}).workload == "digits n_params=300"
