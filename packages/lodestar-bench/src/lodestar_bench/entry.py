"""Makes a bench from the words of a command: finds the task and the methods, asks each for its grid, opens the folder.

Comes in: names ("digits-mlp", "my_file.py:MyTask", "cosine", "my_file.py:MyMethod") and the size of the table. Goes
out: a `Bench`, ready to be carried out. An unknown name is an error that lists what exists. Loads the task's data, runs
nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from lodestar.schedules import PAPER_SHAPES
from lodestar_bench import methods, tasks
from lodestar_bench._errors import BenchError
from lodestar_bench.blocks import OWN
from lodestar_bench.entrant import Entrant
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.plan import Source, TablePlan
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.protocol import Bench


def open_bench(
    task: str,
    scale: str,
    out: Path,
    *,
    wanted: Sequence[str] = (),
    tune: tuple[int, int] = (5, 5),
    seeds: int = 20,
    source: Source = "shapes",
    budget: int | None = None,
    block: str = OWN,
) -> Bench:
    """`wanted` are methods, all of them if none is named; `tune` is how many values and how many seeds of each.

    `budget`: in place of `tune`, the runs that each method may spend in all before it is judged, what it learns from
    included. `block`: the optimizer of every method.
    """
    found = [method(spec) for spec in dict.fromkeys(wanted or methods.names())]
    spec = _absolute(task)
    problem = tasks.problem(spec, scale, block)
    people = tuple(_entrant(*one, problem) for one in found)
    _check_names(people)
    shapes = tuple(_entrant(*method(name), problem) for name in PAPER_SHAPES)
    learns = any(entrant.learns == "from runs" for entrant in people)
    plan = TablePlan(people, shapes if learns else (), *tune, seeds=seeds, source=source, equal=budget)
    home = Home(out / place(problem.task, scale, block))
    facts = home.remember(
        BenchFacts(
            task=problem.task,
            title=tasks.task(spec).title,
            scale=scale,
            metric_name=problem.metric_name,
            direction=problem.direction,
            fixed=_fixed(problem),
            plan=plan,
            block=block,
        )
    )
    return Bench(spec, problem, facts, plan, home)


def place(task: str, scale: str, block: str) -> str:
    """What the folder of a comparison is called."""
    return f"{task}-{scale}" + ("" if block == OWN else f"-{block}")


def method(spec: str):
    """A method's place and itself."""
    place = _absolute(spec)
    return place, methods.method(place)


def _absolute(spec: str) -> str:
    """A file of the user's by its full path: workers may stand elsewhere."""
    file, colon, name = spec.rpartition(":")
    return f"{Path(file).resolve()}:{name}" if colon and file.endswith(".py") else spec


def _entrant(spec: str, found: methods.AbstractMethod, problem: AbstractProblem) -> Entrant:
    grid = tuple(float(value) for value in found.grid(problem))
    return Entrant(spec, found.name, found.title, found.group, found.learns, grid, found.sweep_form)


def _check_names(people: Sequence[Entrant]) -> None:
    seen: dict[str, str] = {}
    for entrant in people:
        if entrant.name in seen:
            raise BenchError(
                f"two methods are called {entrant.name!r}: {seen[entrant.name]} and {entrant.spec}. Fix: rename yours"
            )
        seen[entrant.name] = entrant.spec


def _fixed(problem: AbstractProblem) -> dict[str, object]:
    """What must not change between commands into one folder."""
    return {
        "total_steps": problem.total_steps,
        "steps_per_epoch": problem.steps_per_epoch,
        "batch_size": problem.batch_size,
        "evaluate_every": problem.evaluate_every,
        "recipe": problem.recipe.as_kept(),
    }
