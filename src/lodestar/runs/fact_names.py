"""The names people give to what sets the scale of a run: its size, batch, samples, optimizer and weight decay.

Comes in: the extra facts of a run. Goes out: those that mean one thing, by the key they stand under. A nested key
counts by its last part. To teach Lodestar a new name, add it here.
"""

from collections.abc import Mapping

from lodestar._keys import parts

NAMES: Mapping[str, tuple[str, ...]] = {
    "parameters": (
        *("parameters", "params", "n_params", "num_params", "total_params", "n_parameters", "num_parameters"),
        *("total_parameters", "model_params", "model_parameters", "param_count", "parameter_count"),
        *("number_of_parameters", "model_size"),
    ),
    "part of the parameters": ("trainable_params", "trainable_parameters", "non_embedding_params"),
    "width": (
        *("width", "model_width", "d_model", "dim_model", "model_dim", "n_embd", "hidden_size", "hidden_dim"),
        *("hidden_width", "hidden_units", "num_hidden_units", "n_hidden", "hidden_channels", "base_channels"),
        *("base_width", "width_multiplier", "width_mult"),
    ),
    "size": ("size",),
    "global batch": ("global_batch_size", "total_batch_size", "total_train_batch_size", "effective_batch_size"),
    "batch": ("batch_size", "train_batch_size", "batchsize", "batch", "bs", "train_bs", "mini_batch_size"),
    "device batch": (
        *("per_device_train_batch_size", "per_device_batch_size", "per_gpu_train_batch_size", "per_gpu_batch_size"),
        *("device_batch_size", "local_batch_size", "batch_size_per_device", "batch_size_per_gpu", "micro_batch_size"),
        "train_micro_batch_size_per_gpu",
    ),
    "accumulation": (
        *("gradient_accumulation_steps", "grad_accumulation_steps", "accumulate_grad_batches", "grad_accum_steps"),
        *("grad_accum", "accumulation_steps", "accum_steps", "gradient_accumulation"),
    ),
    "devices": ("world_size", "num_devices", "n_devices", "num_gpus", "n_gpus", "n_gpu", "gpus", "ngpus"),
    "tokens": (
        *("tokens_seen", "total_tokens", "train_tokens", "training_tokens", "num_train_tokens", "num_tokens_seen"),
        "num_input_tokens_seen",
    ),
    "samples": ("samples_seen", "total_samples", "examples_seen", "images_seen", "num_samples_seen"),
    "optimizer": (
        *("optimizer", "optimiser", "optim", "opt", "optimizer_name", "optimizer_type", "optimizer_class"),
        *("optimiser_name", "optim_name", "opt_name"),
    ),
    "weight_decay": ("weight_decay", "weightdecay", "wd", "optimizer_weight_decay"),
}
_OF_OTHERS = {"eval", "evaluation", "val", "valid", "validation", "test", "inference", "teacher", "tokenizer"}
_NOT_THE_MODEL = {"data", "dataset", "image", "images", "img", "input", "inputs", "transform", "augmentation", "window"}
_OF_THE_MODEL = ("parameters", "part of the parameters", "width", "size")
_CHOSEN = {"name", "type", "class", "class_name", "class_path", "_target_", "target", "kind"}
OURS = "lodestar_"
"""Before a fact's name: as the user says at import, whatever else the run states ('lodestar_width')."""


def named(extra: Mapping[str, object], meaning: str) -> dict[str, object]:
    """The facts that go by a name of this meaning, in the order of the names, then of the facts."""
    found = [(rank, key, value) for key, value in extra.items() if (rank := _rank(key, meaning)) is not None]
    return {key: value for _, key, value in sorted(found, key=lambda entry: entry[0])}


def _rank(key: str, meaning: str) -> int | None:
    """Where a key's name stands among those of the meaning; None if it has another."""
    *places, name = parts(key)
    if meaning == "optimizer" and places and name in _CHOSEN:  # optimizer.name, optimizer._target_
        *places, name = places
    if not _OF_OTHERS.isdisjoint(places) or name not in NAMES[meaning]:
        return None
    if meaning in _OF_THE_MODEL and not _NOT_THE_MODEL.isdisjoint(places):
        return None
    return NAMES[meaning].index(name)
