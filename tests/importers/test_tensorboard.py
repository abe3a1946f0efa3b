"""TensorBoard: the contract on files by torch's writer and on TensorFlow-style tensors; resumed and damaged files."""
# pyright: reportAttributeAccessIssue=false

import math
import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto
from torch.utils.tensorboard import SummaryWriter

from lodestar._errors import TrackerError
from lodestar.importers import import_runs
from lodestar.importers.readers._record_file import masked_crc
from lodestar.importers.readers.tensorboard import TensorboardReader
from lodestar.runs import RunStore
from lodestar.testing import ReaderContract

pytestmark = pytest.mark.filterwarnings("ignore:.*distutils.*:DeprecationWarning")


def event(step, *values):
    return event_pb2.Event(wall_time=time.time(), step=step, summary=summary_pb2.Summary(value=values))


def scalar(tag, value):
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def tensor(tag, proto, plugin="scalars"):
    kind = summary_pb2.SummaryMetadata(plugin_data={"plugin_name": plugin})
    return summary_pb2.Summary.Value(tag=tag, tensor=proto, metadata=kind)


def write_events(path, events):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = RecordWriter(file)
        for one in [event_pb2.Event(wall_time=1.0, file_version="brain.Event:2"), *events]:
            writer.write(one.SerializeToString())


def only(tracker):
    (run,) = tracker.list()
    return run, tracker.fetch(run, run.quantities)


class TestTorchWriter(ReaderContract):
    precision = 1e-6

    def make(self, place, runs):
        for run in runs:
            with SummaryWriter(str(place / "logs" / run.name)) as writer:
                for name, curve in run.curves.items():
                    for step, value in curve.items():
                        writer.add_scalar(name, value, step)
                writer.add_hparams(dict(run.config), {"hparam/final": 1.0})

    def open(self, place):
        return TensorboardReader(place / "logs")

    def nowhere(self, place):
        return TensorboardReader(place)


class TestTensors(ReaderContract):
    """As TensorFlow 2 writes: 64-bit tensors, which keep all digits."""

    def make(self, place, runs):
        for run in runs:
            points = [(step, name, value) for name, curve in run.curves.items() for step, value in curve.items()]
            events = [event(step, tensor(name, make_tensor_proto(value, np.float64))) for step, name, value in points]
            info = plugin_data_pb2.SessionStartInfo()
            for key, value in run.config.items():
                info.hparams[key].number_value = value
            content = plugin_data_pb2.HParamsPluginData(session_start_info=info).SerializeToString()
            kind = summary_pb2.SummaryMetadata(plugin_data={"plugin_name": "hparams", "content": content})
            given = summary_pb2.Summary.Value(tag="_hparams_/session_start_info", metadata=kind)
            write_events(place / "logs" / run.name / "events.out.tfevents.1.host", [event(0, given), *events])

    def open(self, place):
        return TensorboardReader(place / "logs")

    def nowhere(self, place):
        return TensorboardReader(place)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(np.float32, 0.1), (np.float64, 0.1), (np.float16, 0.5), (np.int32, -3), (np.int64, -7), (np.bool_, True)],
)
def test_a_tensor_of_any_number_type_is_a_scalar(tmp_path, dtype, value):
    by_field = make_tensor_proto(value, dtype)
    by_content = tensor_pb2.TensorProto(dtype=by_field.dtype, tensor_content=np.array(value, dtype).tobytes())
    write_events(
        tmp_path / "events.out.tfevents.1", [event(1, tensor("x", by_field)), event(2, tensor("x", by_content))]
    )
    _, found = only(TensorboardReader(tmp_path))
    np.testing.assert_array_equal(found["x"].values, [float(dtype(value))] * 2)


def test_bfloat16_is_read(tmp_path):
    one_and_a_half = tensor_pb2.TensorProto(dtype=14, half_val=[0x3FC0])
    write_events(tmp_path / "events.out.tfevents.1", [event(1, tensor("x", one_and_a_half))])
    assert only(TensorboardReader(tmp_path))[1]["x"].values.tolist() == [1.5]


def test_what_is_no_scalar_is_passed_by(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_histogram("weights", np.arange(100.0), 1)
        writer.add_text("note", "hello", 1)
        writer.add_scalar("loss", 1.0, 1)
    write_events(tmp_path / "events.out.tfevents.9", [event(2, tensor("many", make_tensor_proto([1.0, 2.0])))])
    assert only(TensorboardReader(tmp_path))[0].quantities == ("loss",)


def test_many_scalars_in_one_event(tmp_path):
    events = [event(step, scalar("a", step), scalar("b", -step), scalar("a/b", 0.5)) for step in (1, 2, 300, 70_000)]
    write_events(tmp_path / "events.out.tfevents.1", events)
    _, found = only(TensorboardReader(tmp_path))
    assert found["b"].steps.tolist() == [1, 2, 300, 70_000] and found["b"].values.tolist() == [-1, -2, -300, -70_000]
    assert found["a/b"].values.tolist() == [0.5] * 4


def test_a_tag_may_change_its_type(tmp_path):
    parts = [scalar("x", 1.0), tensor("x", make_tensor_proto(2.0, np.float64)), scalar("x", 3.0), scalar("x", 4.0)]
    write_events(tmp_path / "events.out.tfevents.1", [event(step, part) for step, part in enumerate(parts)])
    assert only(TensorboardReader(tmp_path))[1]["x"].values.tolist() == [1, 2, 3, 4]


def test_a_resumed_run_is_one_run_and_its_purged_steps_are_void(tmp_path):
    with SummaryWriter(str(tmp_path), filename_suffix=".1") as writer:
        for step in range(10):
            writer.add_scalar("loss", step, step)
    time.sleep(1.1)  # the name of an event file holds the second
    with SummaryWriter(str(tmp_path), purge_step=6, filename_suffix=".2") as writer:
        for step in range(6, 8):
            writer.add_scalar("loss", 100 + step, step)
    found = only(TensorboardReader(tmp_path))[1]["loss"]
    assert found.steps.tolist() == list(range(8))
    assert found.values.tolist() == [0, 1, 2, 3, 4, 5, 106, 107]


def test_sub_folders_of_add_scalars_are_the_runs_own(tmp_path):
    with SummaryWriter(str(tmp_path / "one")) as writer:
        for step in range(3):
            writer.add_scalars("train/loss", {"a": step, "b": 2 * step}, step)
            writer.add_scalar("lr", 0.1, step)
    run, found = only(TensorboardReader(tmp_path))
    assert run.name == "one" and set(run.quantities) == {"lr", "train/loss/a", "train/loss/b"}
    assert found["train/loss/b"].values.tolist() == [0, 2, 4]


def test_folders_within_folders_are_runs_of_their_own(tmp_path):
    for name in ("", "a", "a/b"):
        with SummaryWriter(str(tmp_path / name)) as writer:
            writer.add_scalar("loss", 1.0, 1)
            writer.add_scalar("acc", 1.0, 1)
    assert [run.name for run in TensorboardReader(tmp_path).list()] == [tmp_path.name, "a", "a/b"]
    assert len({run.key for run in TensorboardReader(tmp_path).list()}) == 3


def test_hparams_yaml_of_lightning_is_config(tmp_path):
    write_events(tmp_path / "events.out.tfevents.1", [event(1, scalar("loss", 1.0))])
    (tmp_path / "hparams.yaml").write_text("lr: 0.1\noptimizer:\n  name: adam\nmodel: !!python/object:my.Model {}\n")
    assert only(TensorboardReader(tmp_path))[0].config == {"lr": 0.1, "optimizer.name": "adam"}


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(1, 400))
def test_a_file_cut_anywhere_gives_all_whole_records_before(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("cut")
    path = folder / "events.out.tfevents.1"
    write_events(path, [event(step, scalar("loss", step)) for step in range(1, 11)])
    data = path.read_bytes()
    path.write_bytes(data[: max(len(data) - cut, 45)])
    _, found = only(TensorboardReader(folder))
    steps = found["loss"].steps.tolist() if "loss" in found else []
    assert steps == list(range(1, len(steps) + 1))
    whole = (len(path.read_bytes()) - 40) // ((len(data) - 40) // 10)
    assert abs(len(steps) - whole) <= 1
    notes = " ".join(note for logged in found.values() for note in logged.notes)
    assert len(steps) < 10 and (not notes or "half a record" in notes)


def test_a_damaged_record_is_left_out_and_told(tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    write_events(path, [event(step, scalar("loss", step)) for step in range(1, 6)])
    data = bytearray(path.read_bytes())
    data[data.index(struct.pack("<f", 3.0)) + 1] ^= 0xFF
    path.write_bytes(data)
    found = only(TensorboardReader(tmp_path))[1]["loss"]
    assert found.steps.tolist() == [1, 2, 4, 5] and "1 damaged records" in found.notes[0]


def test_a_damaged_length_ends_the_file_and_is_told(tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    write_events(path, [event(step, scalar("loss", step)) for step in range(1, 6)])
    data = bytearray(path.read_bytes())
    record = (len(data) - 40) // 5
    data[-2 * record] ^= 0xFF
    path.write_bytes(data)
    found = only(TensorboardReader(tmp_path))[1]["loss"]
    assert found.steps.tolist() == [1, 2, 3] and "is damaged" in found.notes[0]


def test_a_file_of_another_kind_is_left_out_with_a_reason_and_the_others_go_on(tmp_path):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "events.out.tfevents.1").write_bytes(b"this is no event file, whatever its name says")
    for name in ("a", "b"):
        curves = [event(s, scalar("loss", 1 / s), scalar("val_acc", s), scalar("lr", 0.1)) for s in range(1, 9)]
        write_events(tmp_path / name / "events.out.tfevents.1", curves)
    report = import_runs(TensorboardReader(tmp_path), RunStore(tmp_path / "store"))
    assert len(report.imported) == 2 and "not a TensorBoard event file" in str(report.left_out)


def test_a_folder_without_event_files_is_told_what_was_looked_for(tmp_path):
    with pytest.raises(TrackerError, match="tfevents"):
        TensorboardReader(tmp_path)
    (tmp_path / "loss.csv").write_text("step,loss\n")
    with pytest.raises(TrackerError, match="is not TensorBoard event file"):
        TensorboardReader(tmp_path / "loss.csv")


def test_a_blocks_edge_may_fall_anywhere(tmp_path, monkeypatch):
    monkeypatch.setattr("lodestar.importers.readers._record_file.BLOCK", 64)
    write_events(tmp_path / "events.out.tfevents.1", [event(step, scalar("loss", step)) for step in range(500)])
    assert only(TensorboardReader(tmp_path))[1]["loss"].values.tolist() == list(range(500))


@given(st.binary(max_size=200))
def test_our_checksum_is_theirs(data):
    assert masked_crc(data) == masked_crc32c(data)


@settings(max_examples=25, deadline=None)
@given(
    points=st.lists(
        st.tuples(
            st.sampled_from(["a", "bb", "a/b", "ccc", "lr"]),
            st.integers(-(2**63), 2**63 - 1),
            st.floats(width=32, allow_nan=False),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_whatever_was_logged_comes_back(tmp_path_factory, points):
    folder = tmp_path_factory.mktemp("any")
    write_events(folder / "events.out.tfevents.1", [event(step, scalar(tag, value)) for tag, step, value in points])
    _, found = only(TensorboardReader(folder))
    for tag in {tag for tag, _, _ in points}:
        expected = [(float(step), value) for name, step, value in points if name == tag]
        assert [*zip(found[tag].steps.tolist(), found[tag].values.tolist(), strict=True)] == expected
    assert not any(math.isnan(value) for logged in found.values() for value in logged.values)
