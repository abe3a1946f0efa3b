"""One setting for every randomised test: the same examples each time, and no clock.

Hypothesis's default fails an example that takes longer than 0.2 s, and draws new examples in every run: on a busy
machine, or on an unlucky day, a red test that says nothing about a change. To look for new counterexamples:
`pytest --hypothesis-profile=default`.
"""

from hypothesis import settings

settings.load_profile("ci")  # Hypothesis's own: derandomised, no deadline, no database
