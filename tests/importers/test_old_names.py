"""Names of release one in `lodestar.importers` are those of today."""

import pytest

from lodestar import importers

OLD = {
    "AbstractBulkTracker": "AbstractBulkReader",
    "AbstractTracker": "AbstractReader",
    "KINDS": "READERS",
    "Listed": "ListedRun",
    "Logged": "LoggedCurve",
    "TrackerImport": "RunImport",
    "open_tracker": "open_reader",
}


@pytest.mark.parametrize("old", OLD)
def test_an_old_name_is_the_new_thing(old):
    assert getattr(importers, old) is getattr(importers, OLD[old])


def test_the_contract_has_its_old_name_too():
    from lodestar import testing

    assert testing.TrackerContract is testing.ReaderContract
