"""When a figure rests on too few runs to mean much: one threshold for whatever prints figures."""

FEW_RUNS = 10


def caveat(runs: int, what: str) -> str | None:
    """A sentence for a figure that rests on few runs, such as `what` = "the rank correlation"; None for enough."""
    if runs >= FEW_RUNS:
        return None
    count = f"{runs} run{'s' * (runs != 1)}"
    return f"{what} rests on {count}: below {FEW_RUNS} such a figure says little, another few may turn it over"
