"""Outcomes: what became of a decision. Each has a kind, which programs read, and a sentence, which people do.

Both are written to the log. Logs and states of release one hold the sentence alone, some with other words:
`outcome_of` knows them.
"""

import enum


class Outcome(enum.StrEnum):
    """What became of a decision, as a sentence."""

    INITIAL_PLAN = "began with the initial plan, forecast from the best past runs"
    REPLANNED = "replanned: the learning rate of the best candidates is followed"
    KEPT = "kept the plan: no candidate beat its forecast by enough"
    NONE_ACCEPTED = "kept the plan: no candidate's loss came near this run's"
    NO_CONSENSUS = "kept the plan: too few members of the ensemble agree on any candidate"
    NOTHING_SEEN = "kept the plan: no finite loss was observed in the last window"
    NOT_FINITE = "kept the plan: the forecasts were not finite"
    FAILED = "kept the plan: the decision failed, see the warnings"
    GATED = "the gate is closed: the plain schedule is followed"
    RESCALED = "rescaled the plan: this job answers to a learning rate otherwise than the past runs did"
    CUT = "cut the learning rate for one window: the loss jumped far above its forecast, or was not finite"
    EXTENDED = "the run's length changed: the rest of the plan was stretched to fit"
    PAUSED = "steering was paused by hand: the plan is followed as it stands"
    RESUMED = "steering was resumed by hand"
    SCALED = "the learning rate was multiplied by hand; steering is paused"
    TAKEN = "a schedule drawn by hand is followed; steering is paused"
    STOPPED = "the run was ended by hand"
    REFUSED = "a command was refused"

    OPENING = INITIAL_PLAN  # names of release one
    GEARED = RESCALED

    @property
    def kind(self) -> str:
        """A word that stays, whatever the sentence: "initial-plan", "replanned", ..."""
        return self.name.lower().replace("_", "-")


_SENTENCES_OF_RELEASE_ONE = {
    "opened with the plan decoded from the best past run": Outcome.INITIAL_PLAN,
    "changed gear: this job answers to a learning rate otherwise than the past runs did": Outcome.RESCALED,
}


def outcome_of(sentence: str, kind: str | None) -> Outcome:
    """The outcome of a written decision; `kind` is None in files of release one. A ValueError if it is unknown."""
    if kind is not None:
        known = {outcome.kind: outcome for outcome in Outcome}.get(kind)
        if known is None:
            raise ValueError(f"unknown outcome {kind!r:.40}")
        return known
    known = _SENTENCES_OF_RELEASE_ONE.get(sentence)
    return Outcome(sentence) if known is None else known
