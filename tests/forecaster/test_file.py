import json
import resource
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from lodestar import load
from lodestar._errors import ForecasterError
from lodestar.forecaster import file
from lodestar.testing import random_forecaster


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "f.lodestar"
    random_forecaster(seed=1, members=2).save(path)
    return path


def test_a_saved_forecaster_comes_back_the_same(saved):
    made, back = random_forecaster(seed=1, members=2), load(saved)
    assert back.recipe == made.recipe
    assert back.network.shape == made.network.shape
    assert back.facts == made.facts
    assert back.references.names == made.references.names
    context = made.references.context(0, 0, 10)
    np.testing.assert_array_equal(back.encode(context), made.encode(context))
    np.testing.assert_array_equal(back.forecast(context).metric.upper, made.forecast(context).metric.upper)


def test_shapes_and_types_come_back_exactly(tmp_path):
    tensors = {
        "number": np.array(3, np.int32),
        "empty": np.zeros((0, 3), np.float32),
        "turned": np.arange(6.0).reshape(2, 3).T,
        "flags": np.array([True, False]),
    }
    file.write(tmp_path / "t", tensors, {"a": [1, None]})
    back, header = file.read(tmp_path / "t")
    assert header == {"a": [1, None]}
    for name, value in tensors.items():
        assert (back[name].shape, back[name].dtype) == (value.shape, value.dtype)
        np.testing.assert_array_equal(back[name], value)


def test_the_safetensors_package_reads_our_file(saved):
    theirs, (ours, _) = load_file(saved), file.read(saved)
    assert set(theirs) == set(ours)
    for name, value in ours.items():
        np.testing.assert_array_equal(theirs[name], value)


def test_a_missing_file_is_an_error_with_a_cure(tmp_path):
    with pytest.raises(ForecasterError, match=r"there is no forecaster file .*nope.* make one with lodestar fit"):
        load(tmp_path / "nope")


def test_a_folder_in_its_place_is_an_error(tmp_path):
    with pytest.raises(ForecasterError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 100, (20).to_bytes(8, "little") + b'{"a": 1}' + b" " * 12])
def test_something_else_is_refused(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(ForecasterError, match=r"not a .*forecaster|cut short"):
        load(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_any_flipped_byte_is_noticed(saved, data):
    whole = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    broken = saved.with_name("broken")
    broken.write_bytes(bytes(whole))
    with pytest.raises(ForecasterError):
        load(broken)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.floats(0, 0.9999))
def test_a_truncated_file_is_refused(saved, share):
    whole = saved.read_bytes()
    broken = saved.with_name("broken")
    broken.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ForecasterError):
        load(broken)


def test_a_newer_version_is_refused_with_the_upgrade_line(saved):
    whole = saved.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    table = json.loads(whole[8 : 8 + size])
    table["__metadata__"]["version"] = "99"
    head = json.dumps(table).encode()
    saved.write_bytes(len(head).to_bytes(8, "little") + head + whole[8 + size :])
    with pytest.raises(ForecasterError, match=r"version 99, .* reads up to 3.*Fix: (git -C|install a newer)"):
        load(saved)


def test_a_checkpoint_is_not_a_forecaster(tmp_path):
    file.write(tmp_path / "c", {"a": np.zeros(2)}, {}, kind=file.CHECKPOINT)
    with pytest.raises(ForecasterError, match="not a Lodestar forecaster"):
        load(tmp_path / "c")


def test_a_missing_weight_is_named(saved):
    tensors, header = file.read(saved)
    tensors.pop("weights.field.net.layers.0.bias")
    file.write(saved, tensors, header)
    with pytest.raises(ForecasterError, match=r"field\.net\.layers\.0\.bias"):
        load(saved)


def test_a_weight_that_is_not_finite_is_refused(saved):
    tensors, header = file.read(saved)
    bad = tensors["weights.encoder.cell.bias"].copy()
    bad[0, 0] = np.nan
    file.write(saved, {**tensors, "weights.encoder.cell.bias": bad}, header)
    with pytest.raises(ForecasterError, match="not finite"):
        load(saved)


def test_a_full_disk_leaves_the_old_file_alone(saved):
    """The limit on file size stands in for a full disk: the write fails half way."""
    before = saved.read_bytes()
    code = (
        "import sys, signal, resource\n"
        "from lodestar.testing import random_forecaster\n"
        "made = random_forecaster(seed=2)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}))\n"
        "made.save(sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True)
    assert "cannot be written" in done.stderr
    assert "Nothing was changed" in done.stderr
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]
