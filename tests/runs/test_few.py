"""A figure over few runs carries a caveat; every part of the product that prints figures asks here."""

import pytest

from lodestar.runs.few import FEW_RUNS, caveat


@pytest.mark.parametrize(
    ("runs", "said"), [(FEW_RUNS, None), (FEW_RUNS - 1, "it rests on 9 runs: below 10"), (1, "it rests on 1 run: ")]
)
def test_what_is_said(runs, said):
    found = caveat(runs, "it")
    assert found is None if said is None else str(found).startswith(said)
