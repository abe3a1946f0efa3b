"""Runs to TensorBoard: scalars, decisions as text, settings for the HPARAMS tab. Needs TensorBoard, but no torch.

TensorBoard keeps scalars in 32 bits, so values come back to seven digits. Events are written here and now, not through
TensorBoard's EventFileWriter: that has a thread of its own, which a full disk ends with a traceback on the screen.
"""

import contextlib
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from lodestar._disk import cannot_write, is_full, make_folder
from lodestar._errors import TrackerError
from lodestar._extras import need
from lodestar.exporters.writer import PREFIX, AbstractWriter
from lodestar.runs import Scalar, Status

_FLUSH_SECONDS = 10


class TensorboardWriter(AbstractWriter):
    """A folder of event files."""

    kind: ClassVar[str] = "tensorboard"

    def __init__(self, address: str):
        self._folder = Path(address).expanduser()
        try:
            make_folder(self._folder)
        except OSError as error:
            if not is_full(error):  # there may be room again when the run begins
                raise TrackerError(cannot_write(self._folder, error)) from error
        self._events = need("tensorboard.compat.proto.event_pb2", "tensorboard")
        self._summaries = need("tensorboard.compat.proto.summary_pb2", "tensorboard")
        self._tensors = need("tensorboard.compat.proto.tensor_pb2", "tensorboard")
        self._hparams = need("tensorboard.plugins.hparams.plugin_data_pb2", "tensorboard")
        self._file: Any = None
        self._flush_at = 0.0

    def begin(self, name: str, config: Mapping[str, Scalar], *, first_step: int = 0) -> None:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        stamp = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
        records = need("tensorboard.summary.writer.record_writer", "tensorboard")
        self._file = records.RecordWriter((folder / f"events.out.tfevents.{stamp}").open("xb"))
        self._add(0, file_version="brain.Event:2")
        fresh = self._events.SessionLog(status=self._events.SessionLog.START)
        self._add(first_step, session_log=fresh)
        started = self._hparams.SessionStartInfo(group_name=name, start_time_secs=time.time())
        for key, value in config.items():
            setting = started.hparams[key]
            if isinstance(value, bool):
                setting.bool_value = value
            elif isinstance(value, str):
                setting.string_value = value
            else:
                setting.number_value = value
        self._add_hparams("session_start_info", started)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        scalars = [self._summaries.Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        for scalar in scalars:
            self._add(step, summary=self._summaries.Summary(value=[scalar]))

    def decision(self, step: int, text: str, numbers: Mapping[str, float]) -> None:
        self.log(step, {PREFIX + name: value for name, value in numbers.items()})
        tensor = self._tensors.TensorProto(dtype=7, string_val=[text.encode()])  # DT_STRING
        self._add_tensor(step, PREFIX + "decisions", tensor, plugin="text", content=b"")

    def flush(self) -> None:
        self._flush_at = time.monotonic() + _FLUSH_SECONDS
        if self._file is not None:
            self._file.flush()

    def end(self, status: Status) -> None:
        ended = self._hparams.SessionEndInfo(end_time_secs=time.time())
        ended.status = 1 if status is Status.FINISHED else 2  # STATUS_SUCCESS, STATUS_FAILURE
        self._add_hparams("session_end_info", ended)
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        with contextlib.suppress(OSError):
            file.close()

    def _add(self, step: int, **content: Any) -> None:
        event = self._events.Event(wall_time=time.time(), step=step, **content)
        try:
            self._file.write(event.SerializeToString())
            if time.monotonic() > self._flush_at:
                self.flush()
        except OSError as error:
            self._close()
            raise TrackerError(cannot_write(self._folder, error)) from error

    def _add_hparams(self, name: str, info: Any) -> None:
        content = self._hparams.HParamsPluginData(version=0, **{name: info}).SerializeToString()
        empty = self._tensors.TensorProto(dtype=1, float_val=[0.0])  # the plugin reads the metadata alone
        self._add_tensor(0, f"_hparams_/{name}", empty, plugin="hparams", content=content)

    def _add_tensor(self, step: int, tag: str, tensor: Any, *, plugin: str, content: bytes) -> None:
        kind = self._summaries.SummaryMetadata(plugin_data={"plugin_name": plugin, "content": content})
        value = self._summaries.Summary.Value(tag=tag, tensor=tensor, metadata=kind)
        self._add(step, summary=self._summaries.Summary(value=[value]))
