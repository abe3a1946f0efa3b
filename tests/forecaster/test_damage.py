"""Damaged and hostile model files: a `ForecasterError` or a forecaster that forecasts, and nothing else."""

import json
import os
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.hostile import TRIES, deep, some_bytes, some_value

from lodestar import load
from lodestar._errors import ForecasterError
from lodestar.forecaster import Architecture, file
from lodestar.testing import random_forecaster

OLD = Path(__file__).parents[1] / "release_one" / "files" / "forecaster.lodestar"
SHAPE = Architecture(latent=4, hidden=5, field_width=6, decoder_width=4, tokens=5, steps=4)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("f") / "f.lodestar"
    random_forecaster(seed=1, points=20, members=2, references=2, shape=SHAPE).save(path)
    return path


def apart(path: Path) -> tuple[dict[str, Any], bytes]:
    """The table and the body of a file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def together(path: Path, table: dict[str, Any], body: bytes) -> Path:
    """A file whose checksum holds whatever is in it, as a stranger would write it."""
    version = table.get("__metadata__", {}).get("version") if isinstance(table.get("__metadata__"), dict) else None
    if version == "1":
        table["__metadata__"]["sha256"] = file._digest_of_release_one(table["__metadata__"], body)
        head = json.dumps(table).encode()
    else:
        meta = {"sha256": file._BLANK, **{k: v for k, v in table.pop("__metadata__").items() if k != "sha256"}}
        blank = json.dumps({"__metadata__": meta, **table}).encode()
        head = blank.replace(file._BLANK.encode(), file._digest(blank, body).encode(), 1)
    path.write_bytes(len(head).to_bytes(8, "little") + head + body)
    return path


def with_header(path: Path, change: Any, target: Path) -> Path:
    table, body = apart(path)
    header = json.loads(table["__metadata__"]["header"])
    table["__metadata__"]["header"] = json.dumps(change(header))
    return together(target, table, body)


def loads_or_refuses(path: Path) -> bool:
    """Whether the file was taken; then it must forecast."""
    try:
        forecaster = load(path)
    except ForecasterError:
        return False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        forecast = forecaster.forecast(forecaster.references.context(0, 0, 6)) if len(forecaster.references) else None
    assert forecast is None or forecast.metric.centre.shape == (forecaster.points,)
    return True


@pytest.mark.parametrize("version", ["1", "2"])
def test_files_with_some_bytes_changed(saved, tmp_path, version):
    """Every change is noticed; of the table of a file of release one, every change that changes what is read."""
    source = OLD if version == "1" else saved
    data, rng, broken = source.read_bytes(), random.Random(int(version)), tmp_path / "broken"
    taken = 0
    for _ in range(TRIES):
        changed = some_bytes(data, rng)
        broken.write_bytes(changed)
        taken += loads_or_refuses(broken) and changed != data
    assert taken == 0 or version == "1"


@pytest.mark.parametrize("version", ["1", "2"])
def test_files_with_a_stranger_s_table(saved, tmp_path, version):
    """The checksum holds, since it is no signature: what is wrong must be found by looking."""
    table, body = apart(OLD if version == "1" else saved)
    rng = random.Random(3)
    for _ in range(TRIES):
        changed = {
            "__metadata__": table["__metadata__"],
            **some_value({k: v for k, v in table.items() if k[0] != "_"}, rng),
        }
        loads_or_refuses(together(tmp_path / "broken", changed, body))


@pytest.mark.parametrize("version", ["1", "2"])
def test_files_with_a_stranger_s_header(saved, tmp_path, version):
    rng = random.Random(4)
    for _ in range(TRIES):
        changed = with_header(
            OLD if version == "1" else saved,
            lambda header: some_value(header, rng, rng.randint(1, 3)),
            tmp_path / "broken",
        )
        loads_or_refuses(changed)


def test_files_with_a_stranger_s_arrays(saved, tmp_path):
    """Any array of another type, shape or with a value that is no number."""
    tensors, header = file.read(saved)
    rng, dice = np.random.default_rng(5), random.Random(5)
    for _ in range(TRIES):
        name = dice.choice([*tensors])
        array = np.array(tensors[name])
        spoilt = np.array(array, np.float64)
        spoilt.flat[rng.integers(spoilt.size)] = dice.choice([np.nan, np.inf, -np.inf])
        wrong = dice.choice([spoilt, array[..., :-1], array[:0], array[None], array.astype(np.int64), np.float64(1.0)])
        file.write(tmp_path / "broken", {**tensors, name: np.asarray(wrong)}, header)
        with pytest.raises(ForecasterError):
            load(tmp_path / "broken")


def test_a_changed_type_in_the_table_is_noticed(saved, tmp_path):
    data = saved.read_bytes()
    at = data.index(b'"F64"')
    (tmp_path / "broken").write_bytes(data[:at] + b'"I64"' + data[at + 5 :])
    with pytest.raises(ForecasterError, match="checksum does not match"):
        load(tmp_path / "broken")


def test_a_changed_type_in_a_table_of_release_one_is_noticed(tmp_path):
    data = OLD.read_bytes()
    at = data.index(b'"F64"')
    (tmp_path / "broken").write_bytes(data[:at] + b'"I64"' + data[at + 5 :])
    with pytest.raises(ForecasterError):
        load(tmp_path / "broken")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latent", 10**9),
        ("field_depth", 10**9),
        ("tokens", 2**40),
        ("steps", 10**12),
        ("hidden", 5.0),
        ("latent", True),
        ("rtol", 1e-300),
        ("atol", 5.0),
    ],
)
def test_sizes_and_tolerances_have_bounds(saved, tmp_path, name, value):
    changed = with_header(saved, lambda h: {**h, "architecture": {**h["architecture"], name: value}}, tmp_path / "b")
    with pytest.raises(ForecasterError, match=f"is damaged: {name} must be a"):
        load(changed)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("facts", deep()),
        ("facts", [1]),
        ("library", ["a", 5]),
        ("lr_max", 10**400),
        ("lr_min", "1e-3"),
        ("recipe", None),
    ],
)
def test_a_header_of_another_shape_is_damage(saved, tmp_path, part, value):
    changed = with_header(saved, lambda header: header | {part: value}, tmp_path / "broken")
    with pytest.raises(ForecasterError, match="is damaged"):
        load(changed)


@pytest.mark.parametrize(
    "head",
    [
        b"[" * 100_000,
        b'{"__metadata__": {"format": "lodestar-forecaster", "version": "2", "sha256": "", "header": "\\ud800"}}',
        b'{"__metadata__": {"format": "lodestar-forecaster", "version": "1", "sha256": "", "header": "\\ud800"}}',
        b'{"__metadata__": {"format": "lodestar-forecaster", "version": "1", "sha256": "", "header": 5}}',
        '{"__metadata__": {"format": "lodestar-forecaster", "version": "²", "sha256": "", "header": ""}}'.encode(),
        b'{"a": ' + b"9" * 5000 + b"}",
        b"\xff\xfe\x00",
    ],
)
def test_a_hostile_table_is_an_error_of_ours(tmp_path, head):
    (tmp_path / "broken").write_bytes(len(head).to_bytes(8, "little") + head)
    with pytest.raises(ForecasterError):
        load(tmp_path / "broken")


def test_what_is_no_file_is_not_read(tmp_path):
    """A pipe would block, a device has no end."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ForecasterError, match="cannot be read: it is no file"):
            load(path)


def test_an_old_lodestar_says_that_a_new_file_is_newer(saved):
    """Release one looks at these two first, and refuses a version above its own with the update line."""
    table, _ = apart(saved)
    assert (table["__metadata__"]["format"], table["__metadata__"]["version"]) == ("lodestar-forecaster", "3")
