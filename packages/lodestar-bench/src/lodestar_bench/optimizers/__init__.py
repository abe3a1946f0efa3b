"""Optimizers: how an update is made at a given rate. A file each; asked for twice, the same object, so one compile."""

from lodestar_bench.optimizers.hypergradient import hypergradient as hypergradient
from lodestar_bench.optimizers.mechanic import mechanic as mechanic
from lodestar_bench.optimizers.plain import direction as direction
from lodestar_bench.optimizers.plain import plain as plain
from lodestar_bench.optimizers.prodigy import prodigy as prodigy
from lodestar_bench.optimizers.schedule_free import schedule_free as schedule_free
