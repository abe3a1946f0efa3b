"""The same examples every time, however slow the machine: Hypothesis's own profile for that."""

from hypothesis import settings

settings.load_profile("ci")
