"""Words for a schedule, read: "linear:3e-3:warmup=0.05" is the linear family, its peak, its parameters."""

from lodestar.schedules.families import FAMILIES, find, letters
from lodestar.schedules.schedule import Schedule

FORM = "family:peak[:parameter=value...], such as linear:3e-3:warmup=0.05"


def parse(words: str, total_steps: int) -> Schedule:
    """Draw the schedule that `words` name, over `total_steps` optimizer steps."""
    name, _, rest = words.partition(":")
    family = find(name)
    if family is None:
        raise ValueError(f"there is no schedule family {name!r} (in {words!r}). Fix: one of {', '.join(FAMILIES)}")
    peak, *settings = rest.split(":")
    if not peak.strip() or "=" in peak:
        raise ValueError(f"the schedule {words!r} states no peak learning rate. Fix: {FORM}")
    parameters: dict[str, float] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or key in parameters:
            why = f"states {key} twice" if equals else f"has {setting!r} where a parameter=value should be"
            raise ValueError(f"the schedule {words!r} {why}. Fix: {FORM}")
        parameters[key] = _number(words, key, value)
    if "warmup" in letters(name) and not {**family.defaults, **parameters}.get("warmup"):
        raise ValueError(f"the schedule {words!r} speaks of a warm-up and states none. Fix: {words}:warmup=0.05")
    try:
        return family(_number(words, "the peak", peak), total_steps, **parameters)
    except ValueError as error:
        raise ValueError(f"the schedule {words!r} cannot be drawn: {error}") from None


def _number(words: str, what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the schedule {words!r}: {what} must be a number, got {text!r}. Fix: {FORM}") from None
