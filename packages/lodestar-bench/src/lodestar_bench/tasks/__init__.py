"""The test models, a file each: `names()` lists them, `problem(name, scale)` builds one, `register` adds your own."""

from lodestar_bench.tasks.catalogue import names, narrower, problem, register, task
from lodestar_bench.tasks.task import Task

__all__ = ["Task", "names", "narrower", "problem", "register", "task"]
