import pytest

from lodestar.adapters._source import metric_name


def test_the_metric_goes_by_either_keyword():
    assert metric_name("val_acc", None) == metric_name(None, "val_acc") == "val_acc"


def test_a_job_must_name_its_metric():
    with pytest.raises(ValueError, match=r"metric must be the name of the validation metric .* got None. Fix: "):
        metric_name(None, None)
