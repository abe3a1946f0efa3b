"""The two ways a trial ends before its function returns, as exceptions inside the process that runs it."""

MOST_DETAIL = 4000


class TrialCut(BaseException):
    """Raised by `report` when the trial is lost. No `Exception`, so that a careless `except` lets it pass."""


class TrialFailed(Exception):
    """A trial ended without a run: `reason` is a sentence, `detail` a traceback or the end of an output."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail[-MOST_DETAIL:]
