"""Fetching many runs: a few at once, in order, and never more in memory than are under way."""

import collections
import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from lodestar._errors import RunError
from lodestar.importers.axis import epochs_of, stands_still
from lodestar.importers.plan import FetchPlan
from lodestar.importers.reader import AbstractBulkReader, AbstractReader, Answer, about_one_run

_AHEAD = 2
_GROUP_VALUES = 300_000


def fetch_all(reader: AbstractReader, plans: Iterable[FetchPlan]) -> Iterator[tuple[FetchPlan, Answer]]:
    """Each plan with its answer, in order. The reader's `error` ends it."""
    size = reader.bulk if isinstance(reader, AbstractBulkReader) else 1
    groups = _groups(plans, size)
    with ThreadPoolExecutor(reader.threads, thread_name_prefix="fetch") as pool:
        under_way: collections.deque[tuple[Sequence[FetchPlan], Future[list[Answer]]]] = collections.deque()
        try:
            while True:
                for group in itertools.islice(groups, reader.threads * _AHEAD - len(under_way)):
                    under_way.append((group, pool.submit(_fetch_group, reader, group)))
                if not under_way:
                    return
                group, future = under_way.popleft()
                yield from zip(group, future.result(), strict=True)
        finally:
            for _, future in under_way:
                future.cancel()


def _fetch_group(reader: AbstractReader, group: Sequence[FetchPlan]) -> list[Answer]:
    if not isinstance(reader, AbstractBulkReader):
        return [_fetch_one(reader, plan) for plan in group]
    wanted = list(dict.fromkeys(name for plan in group for name in plan.wanted))
    try:
        with about_one_run():
            found = reader.fetch_many([plan.run for plan in group], wanted)
    except RunError:  # one of them is bad: find out which
        return [_fetch_one(reader, plan) for plan in group]
    return [_with_epochs(reader, plan, found.get(plan.run.key, {})) for plan in group]


def _fetch_one(reader: AbstractReader, plan: FetchPlan) -> Answer:
    try:
        with about_one_run():
            return _with_epochs(reader, plan, reader.fetch(plan.run, plan.wanted))
    except RunError as error:
        return error


def _with_epochs(reader: AbstractReader, plan: FetchPlan, logged: Answer) -> Answer:
    """Where the clock stands still, the epochs as well: they may stand in for it."""
    epochs = epochs_of(plan.run)
    if isinstance(logged, RunError) or epochs is None or epochs in logged or not stands_still(plan, logged):
        return logged
    return {**logged, **reader.fetch(plan.run, [epochs])}


def _groups(plans: Iterable[FetchPlan], size: int) -> Iterator[list[FetchPlan]]:
    """Plans in groups of `size`, fewer where the runs are long."""
    group: list[FetchPlan] = []
    values = 0
    for plan in plans:
        group.append(plan)
        values += plan.run.points * len(plan.wanted)
        if len(group) >= size or values >= _GROUP_VALUES:
            yield group
            group, values = [], 0
    if group:
        yield group
