"""Optimisers: how an update is made at a given rate. A file each; asked for twice, the same object, so one compile."""

from lodestar.bench.optimisers.hypergradient import hypergradient as hypergradient
from lodestar.bench.optimisers.mechanic import mechanic as mechanic
from lodestar.bench.optimisers.plain import direction as direction
from lodestar.bench.optimisers.plain import plain as plain
from lodestar.bench.optimisers.prodigy import prodigy as prodigy
from lodestar.bench.optimisers.schedule_free import schedule_free as schedule_free
