"""Every exception Lodestar raises on purpose.

    LodestarError
    ├── RunError          a run's data break a rule: names the run, the column and the first bad step
    ├── StoreError        a run store cannot be read or written
    ├── TableError        a file of runs cannot be understood: columns, format
    ├── PrepareError      no usable runs are left to fit on
    ├── FitError          a fit cannot start or go on
    ├── ForecasterError   a forecaster file is damaged, newer than this version, or not one
    ├── TrackerError      an experiment tracker cannot be reached or understood
    ├── SweepError        a sweep cannot start or go on
    ├── CommandError      a command to a running job is refused
    └── MissingExtra      an optional package is not installed (also an ImportError)

A bad *argument* is a plain `ValueError`, raised where the object is built. Each message names the thing, the rule, the
value and the fix.
"""

from lodestar._credentials import cleaned


class LodestarError(Exception):
    """Base of all errors that Lodestar raises on purpose. What it says holds no credential of an address."""

    def __init__(self, *args: object):
        super().__init__(*(cleaned(arg) if isinstance(arg, str) else arg for arg in args))


class RunError(LodestarError):
    """A run's data break a rule."""


class StoreError(LodestarError):
    """A run store cannot be read or written."""


class TableError(LodestarError):
    """A file of runs cannot be understood."""


class PrepareError(LodestarError):
    """No usable runs are left to fit on."""


class FitError(LodestarError):
    """A fit cannot start or go on."""


class ForecasterError(LodestarError):
    """A forecaster file is damaged, newer than this version, or not one."""


class TrackerError(LodestarError):
    """An experiment tracker cannot be reached or understood."""


class SweepError(LodestarError):
    """A sweep cannot start or go on."""


class CommandError(LodestarError):
    """A command to a running job is refused."""


class MissingExtra(LodestarError, ImportError):
    """An optional package is not installed."""
