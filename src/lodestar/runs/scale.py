"""The scale of a run: what the best learning rate depends on besides the schedule.

Comes in: a run, or its line in a listing. Goes out: its `Scale`, from the names people give such things, and sentences
where its facts contradict each other or cannot be. Nothing is chosen in silence: what is not clear is not known. NumPy
alone is needed, as a live job has it.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lodestar._plain import shown
from lodestar.runs.fact_names import OURS, named

if TYPE_CHECKING:
    from lodestar.runs.run import Run
    from lodestar.runs.summary import RunSummary

EPOCHS = "lodestar_epochs"
"""Among a run's extra facts: its steps are epochs, not updates."""
FACTS = ("parameters", "width", "batch_size", "samples", "optimizer", "weight_decay")
"""What a user may state or name at import."""
_BLANKS = ("accumulation", "devices", "tokens", "samples")  # where 0 and -1 are common ways to say nothing


@dataclasses.dataclass(frozen=True)
class Scale:
    """What is known of a run's scale; None where nothing is, or nothing clear. `samples` may count tokens."""

    parameters: float | None = None
    width: float | None = None
    batch_size: float | None = None  # of one update, over all devices
    total_steps: float | None = None  # updates planned
    samples: float | None = None  # seen by the end: as stated, else batch size times steps
    optimizer: str | None = None
    weight_decay: float | None = None

    @property
    def size(self) -> tuple[str, float] | None:
        """The best measure of size that is known, with its name: the width, else the number of parameters."""
        if self.width is not None:
            return "width", self.width
        return None if self.parameters is None else ("parameters", self.parameters)


def scale_of(run: "Run | RunSummary") -> Scale:
    """The scale of a run."""
    return read_scale(run).scale


def contradictions(run: "Run | RunSummary") -> list[str]:
    """What is wrong with the run's facts about its scale, in sentences."""
    return read_scale(run).sentences


class Trouble(NamedTuple):
    """What is wrong with a fact, and the cure."""

    what: str
    fix: str


@dataclasses.dataclass(frozen=True)
class ScaleReading:
    """A run's scale, the keys each fact was read from ("per_device_batch_size x world_size"), and what is wrong."""

    scale: Scale
    sources: Mapping[str, str]
    troubles: list[Trouble]

    @property
    def sentences(self) -> list[str]:
        return [f"{trouble.what}. Fix: {trouble.fix}" for trouble in self.troubles]


def read_scale(run: "Run | RunSummary") -> ScaleReading:
    """The scale with all that is to be said of it."""
    return read_facts(run.facts.extra, run.total_steps)


def read_facts(extra: Mapping[str, Any], total_steps: float | None = None) -> ScaleReading:
    """The same from a run's extra facts and its planned length."""
    facts = _Facts(extra)
    values: dict[str, Any] = {"batch_size": _batch(facts), **_sizes(facts)}
    values["weight_decay"] = facts.number("weight_decay", "weight_decay", least=0.0)
    values["optimizer"] = facts.text("optimizer", "optimizer")
    steps = values["total_steps"] = None if total_steps is None or extra.get(EPOCHS) else float(total_steps)
    values["samples"] = _samples(facts, values["batch_size"], steps)
    return ScaleReading(Scale(**values), facts.sources, facts.troubles)


def optimizer_key(name: str) -> str:
    """'torch.optim.AdamW', 'adam_w' and 'adamw_torch_fused' alike."""
    bare = re.sub(r"_(torch|hf|fused|apex|xla|npu|foreach)(?=_|$)", "", name.split(".")[-1].strip().lower())
    return re.sub(r"[^a-z0-9]", "", bare)


class _Facts:
    """Reads facts by meaning, and keeps where each came from and what was wrong."""

    def __init__(self, extra: Mapping[str, Any]):
        self.extra = extra
        self.sources: dict[str, str] = {}
        self.troubles: list[Trouble] = []

    def number(self, fact: str, meaning: str, *, least: float | None = None) -> float | None:
        """The one number of a meaning; above zero, or at least `least`."""
        stated = self._stated(fact, meaning)
        fine = {key: number for key, value in stated.items() if (number := _number(value, least)) is not None}
        rule = "above 0" if least is None else f">= {least:g}"
        self.troubles += [
            Trouble(
                f"{key} = {shown(value)} is no {meaning.replace('_', ' ')}, which must be a number {rule}: it is taken "
                "as not known",
                f"state it, or leave {key} out",
            )
            for key, value in stated.items()
            if key not in fine and meaning not in _BLANKS and _is_number(value)
        ]
        return self._only(fact, meaning, fine, {key: str(number) for key, number in fine.items()})

    def text(self, fact: str, meaning: str) -> str | None:
        """The one text of a meaning, however it is spelt."""
        texts = {k: v for k, v in self._stated(fact, meaning).items() if isinstance(v, str) and v.strip()}
        return self._only(fact, meaning, texts, {key: optimizer_key(text) for key, text in texts.items()})

    def _stated(self, fact: str, meaning: str) -> Mapping[str, Any]:
        ours = OURS + fact
        if ours not in self.extra:
            return named(self.extra, meaning)
        value = self.extra[ours]
        return {} if str(value).lower() == "none" else {ours: value}

    def _only(self, fact: str, meaning: str, values: Mapping[str, Any], same: Mapping[str, str]) -> Any:
        if len(set(same.values())) > 1:
            listed = " and ".join(f"{key} = {_said(value)}" for key, value in values.items())
            what = meaning.replace("_", " ")
            cure = f"keep one of them, or say which counts at import (--fact {fact}={next(iter(values))})"
            self.troubles.append(Trouble(f"{listed} contradict each other: the {what} is taken as not known", cure))
            return None
        key = next(iter(values), None)
        if key is None:
            return None
        self.sources[fact] = key
        return values[key]


def _sizes(facts: _Facts) -> dict[str, float | None]:
    """Parameters and width; what is merely called a size is a width unless parameters are stated."""
    parameters = facts.number("parameters", "parameters")
    if parameters is None and not named(facts.extra, "parameters"):
        parameters = facts.number("parameters", "part of the parameters")
    width = facts.number("width", "width")
    unclear = named(facts.extra, "width") or OURS + "width" in facts.extra or named(facts.extra, "parameters")
    if width is None and not unclear:
        width = facts.number("width", "size")
    return {"parameters": parameters, "width": width}


def _batch(facts: _Facts) -> float | None:
    """Samples in one update over all devices: as stated, or the batch of one device x accumulation x devices."""
    whole = facts.number("batch_size", "global batch")
    if OURS + "batch_size" in facts.extra:
        return whole
    device, factor, keys = _device_batch(facts)
    if named(facts.extra, "global batch"):
        facts.sources["batch_size"] = _first(facts, "global batch")
        seen = whole if device is None else device * factor  # what is not stated may multiply it further
        differs = bool(whole and seen and (whole % seen if len(keys) < 2 else whole != seen))
        return _unclear(facts, "global batch", "device batch") if differs else whole
    batch = facts.number("batch_size", "batch")
    if batch is not None and factor > 1 and device != batch:
        both = (
            f"{_first(facts, 'batch')} = {batch:g} stands beside {' and '.join(keys)}: an update may see {batch:g} or"
        )
        return _unclear(facts, why=f"{both} {batch * factor:g} samples")
    if device is None:
        return batch
    if batch not in (None, device):
        return _unclear(facts, "device batch", "batch")
    facts.sources["batch_size"] = " x ".join([_first(facts, "device batch"), *keys])
    return device * factor


def _device_batch(facts: _Facts) -> tuple[float | None, float, list[str]]:
    """The batch of one device, how many of them an update sees, and the keys that say so."""
    device = facts.number("batch_size", "device batch")
    times = {meaning: facts.number(meaning, meaning) for meaning in ("accumulation", "devices")}
    keys = [key for meaning in times if (key := facts.sources.pop(meaning, None)) is not None]
    return device, math.prod(number or 1.0 for number in times.values()), keys


def _unclear(facts: _Facts, *meanings: str, why: str = "") -> None:
    keys = [_first(facts, meaning) for meaning in meanings]
    why = why or " and ".join(f"{key} = {facts.extra[key]}" for key in keys) + " contradict each other"
    facts.sources.pop("batch_size", None)
    facts.troubles.append(Trouble(f"{why}: the batch size is taken as not known", "state global_batch_size alone"))


def _samples(facts: _Facts, batch: float | None, steps: float | None) -> float | None:
    found: Iterable[float | None] = (facts.number("samples", meaning) for meaning in ("tokens", "samples"))
    stated = next((number for number in found if number is not None), None)
    return batch * steps if stated is None and batch and steps else stated


def _first(facts: _Facts, meaning: str) -> str:
    return next(iter(named(facts.extra, meaning)))


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)


def _number(value: Any, least: float | None) -> float | None:
    """A tracker may keep a number as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    fine = math.isfinite(number) and (number > 0 if least is None else number >= least)
    return number if fine and not isinstance(value, bool) else None


def _is_number(value: Any) -> bool:
    """Whether that is a number at all; words ("auto", "small") say nothing of this."""
    try:
        return not isinstance(value, bool) and float(value) is not None
    except (TypeError, ValueError):
        return False
