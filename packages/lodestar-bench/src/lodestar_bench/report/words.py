"""The report as Markdown: what came out, in a sentence, in the table, in the cost table; and how it was made.

Comes in: a `Story`. Goes out: text. Every figure is one of the table's; nothing is computed here but units.
"""

import math

from lodestar_bench.estimate import in_words
from lodestar_bench.plan import FIT, TablePlan
from lodestar_bench.report.story import Story
from lodestar_bench.statistics import Paired, Spread
from lodestar_bench.table import TableRow

FIGURES = {
    "means": "Mean of the test metric and its 95 % interval",
    "distribution": "Distribution of the final results (kernel density; a dot for each seed)",
    "rates": "Learning rates of five seeds: Lodestar against the best plain schedule",
    "cost": "Minutes of one core that each method used",
}


def markdown(story: Story, figures: tuple[str, ...] = ()) -> str:
    """The whole page."""
    parts = [
        f"# {story.facts.task}, scale {story.facts.scale}",
        story.facts.title[:1].upper() + story.facts.title[1:].rstrip(".") + ".",
        *_partial(story),
        headline(story),
        "## Final results",
        _about(story),
        main_table(story),
        *notes(story),
        *_troubles(story),
        *(f"![{FIGURES[name]}]({name}.png)\n\n*{FIGURES[name]}.*" for name in figures),
        "## What it cost",
        _about_cost(),
        cost_table(story),
        "## How it was made",
        made(story),
    ]
    return "\n\n".join(parts) + "\n"


def headline(story: Story) -> str:
    """The gist."""
    rows = [row for row in story.table.rows if row.finals.count]
    if not rows:
        return "No final run has been made yet."
    best = rows[0]
    text = f"Best: **{best.entrant.title}**, {result(story, best)} (mean ± standard deviation of {best.finals.count})."
    for row in rows:
        if row.entrant.group == "ours" and row.other is not None:
            other = story.table.row(row.other).entrant.title
            text += (
                f" {row.entrant.title}: {result(story, row)}, {difference(story, row.paired)} against the best other "
                f"method ({other}), Welch p {p_value(row.welch.p)}{_papers(story, row)}."
            )
    return text


def _papers(story: Story, row: TableRow) -> str:
    """Ours against the paper's own list, where its best is another."""
    held = row.papers
    if held is None or held.other in (None, row.other):
        return ""
    title = story.table.row(str(held.other)).entrant.title
    gap, sure = difference(story, held.paired), p_value(held.welch.p)
    return f"; {gap} against the best of the paper's own baselines ({title}), Welch p {sure}"


def main_table(story: Story) -> str:
    """Table 1."""
    name = story.facts.metric_name
    head = [
        "method",
        "set to",
        f"test {name}",
        "worst",
        "at the end",
        "best other",
        "difference to it (95 %)",
        "better on",
        "p (Welch)",
        "p (paired)",
        "diverged",
    ]
    return _table(head, [_row(story, row) for row in story.table.rows])


def _row(story: Story, row: TableRow) -> list[str]:
    mark = "" if row.complete else f" ({row.finals.count} of {row.planned})"
    lost = f"{row.diverged_tuning} + {row.diverged}" + (f", {row.failed} failed" if row.failed else "")
    if not row.finals.count:
        return [row.entrant.title, "–", "failed" if row.trouble or row.failed else "not yet", *["–"] * 7, lost]
    return [
        f"**{row.entrant.title}**" if row.entrant.group == "ours" else row.entrant.title,
        row.set_to,
        result(story, row) + mark,
        number(story, row.worst),
        _spread(story, row.ends),
        row.other or "–",
        difference(story, row.paired),
        f"{row.paired.above} of {row.paired.count}" if row.other else "–",
        p_value(row.welch.p),
        p_value(row.paired.p),
        lost,
    ]


def cost_table(story: Story) -> str:
    """The paper's cost table, and what the place in table 1 cost."""
    head = ["method", "s an epoch", "its own part", "tuning", "learning", "final", "all told"]
    rows = []
    for row in story.table.rows:
        spent = row.cost
        rows.append(
            [
                row.entrant.title,
                _seconds(spent.epoch_seconds),
                "–" if math.isnan(spent.own_share) else f"{100 * spent.own_share:.1f} %",
                _stage(spent.tuning_runs, spent.tuning_seconds),
                _stage(spent.learning_runs, spent.learning_seconds),
                _stage(spent.final_runs, spent.final_seconds),
                _stage(spent.runs, spent.seconds),
            ]
        )
    return _table(head, rows)


def made(story: Story) -> str:
    """Commands, machine, seeds, time."""
    plan, results = story.plan, story.results
    total = math.fsum(r.seconds for r in results.records.values() if math.isfinite(r.seconds))
    wall = sum(entry.seconds for entry in story.diary)
    slots = sorted({entry.slots for entry in story.diary})
    lines = [
        f"- {story.runs_made} runs; {in_words(total)} of one core in all, compiling included"
        + (f", {in_words(wall)} on the clock with {' or '.join(map(str, slots))} at once" if story.diary else ""),
        f"- final seeds {plan.first_seed} to {plan.first_seed + plan.seeds - 1}, the same for all methods; "
        + _budget(plan),
        f"- {sum(not r.complete for r in results.records.values() if r.stage != 'learn')} runs diverged, "
        f"{len(results.failures)} trials failed",
    ]
    for command in dict.fromkeys(entry.command for entry in story.diary):
        lines.append(f"- `{command}`")
    for text in dict.fromkeys(", ".join(f"{k} {v}" for k, v in entry.machine.items()) for entry in story.diary):
        lines.append(f"- {text}")
    return "\n".join([*lines, *_taken_over(story)])


def _budget(plan: TablePlan) -> str:
    """What each method might spend before its final runs."""
    if plan.equal is not None:
        return f"at most {plan.equal} runs for each method before them, tuning, sweep and fit ({FIT} run) all told"
    return f"tuning {plan.tune_values} values x {plan.tune_seeds} seeds (0 to {plan.tune_seeds - 1})"


def _taken_over(story: Story) -> list[str]:
    """Which part was not made by these commands."""
    if not story.taken_over:
        return []
    lines = [
        f"- {len(story.taken_over)} of the runs and learnings were taken over from published results; their seconds "
        "hold compiling. They were made by:"
    ]
    for entry in story.elsewhere:
        lines.append(f"  - `{entry.command}` ({entry.began[:10]}, {entry.machine.get('processor')})")
    return lines


def result(story: Story, row: TableRow) -> str:
    """Mean and standard deviation."""
    return _spread(story, row.finals)


def _spread(story: Story, found: Spread) -> str:
    std = "" if math.isnan(found.std) else f" ± {number(story, found.std, digits=2)}"
    return f"{number(story, found.mean)}{std}"


def difference(story: Story, found: Paired) -> str:
    """A paired difference and its interval, with signs."""
    if not found.count:
        return "–"
    if math.isnan(found.lower):
        return _signed(story, found.mean)
    return f"{_signed(story, found.mean)} ({_signed(story, found.lower)} to {_signed(story, found.upper)})"


def scale(story: Story) -> float:
    """Accuracies are told in per cent."""
    return 100.0 if "accuracy" in story.facts.metric_name.lower() else 1.0


def number(story: Story, value: float, digits: int = 4) -> str:
    """A metric: per cent with two decimals, anything else with so many digits."""
    factor = scale(story)
    return "–" if math.isnan(value) else f"{factor * value:.2f}" if factor != 1 else f"{value:.{digits}g}"


def p_value(p: float) -> str:
    """Two digits, or below what anyone cares for."""
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.2g}"


def _signed(story: Story, value: float) -> str:
    text = number(story, value, digits=3)
    if float(text) == 0:
        return text.removeprefix("-")
    return text if text.startswith("-") else f"+{text}"


def _partial(story: Story) -> list[str]:
    if story.complete:
        return []
    runs, learnings = story.plan.left(story.results)
    return [
        f"**Partial:** {runs} runs and {learnings} learnings are still to be made; rerun the command below to go on. "
        "What follows may change."
    ]


def _about(story: Story) -> str:
    unit = ", in per cent" if scale(story) != 1 else ""
    floor = number(story, story.results.floor)
    return (
        f"Test {story.facts.metric_name}{unit}, at the point of best validation, over {story.plan.seeds} fresh seeds. "
        f"Each method was set by {story.plan.budget} tuning runs (best mean validation) or learned. The best other "
        "method is the one with the best mean; for Lodestar, the best that is not Lodestar. At the end: the same with "
        "the last weights, whatever their validation. Differences are paired by "
        "seed, positive is better. Diverged: in tuning + among the final runs; such a run counts as "
        f"{floor}, what a model scores that has hardly learned."
    )


def _about_cost() -> str:
    return (
        "An epoch: updates and the method's own work, evaluations left out, median over the final runs. The stages: "
        "runs, and the time of one core, evaluations included, compiling left out. Lodestar is charged for every run "
        "it learned from, though others tuned with them too."
    )


def notes(story: Story) -> list[str]:
    """What a reader should hold against the table."""
    found = []
    if ends := [f"{row.entrant.name} ({row.set_to})" for row in story.table.rows if row.at_the_end]:
        found.append(f"Set to the end of their grids, so that a wider grid might do better: {', '.join(ends)}.")
    told = {
        name: [record.held for record in records if record.held == record.held]
        for name, records in story.finals.items()
    }
    if held := [f"{name} {sum(each):.0f} of {len(each)}" for name, each in told.items() if each]:
        found.append(
            "Runs that ended within the 80 % interval of the first forecast made after a quarter of them: "
            f"{', '.join(held)}."
        )
    return found


def _troubles(story: Story) -> list[str]:
    if not story.results.failures:
        return []
    lines = [f"- `{name}`: {why}" for name, why in list(story.results.failures.items())[:20]]
    more = len(story.results.failures) - len(lines)
    return ["Failed trials:\n\n" + "\n".join(lines) + (f"\n- and {more} more" if more else "")]


def _stage(runs: int, seconds: float) -> str:
    if not runs and not seconds:
        return "–"
    return f"{runs} runs, {in_words(seconds)}" if runs else in_words(seconds)


def _seconds(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
