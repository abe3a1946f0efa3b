"""Runs to TensorBoard: scalars, decisions as text, settings for the HPARAMS tab. Needs TensorBoard, but no torch.

TensorBoard keeps scalars in 32 bits, so values come back to seven digits.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from lodestar._disk import cannot_write
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
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrackerError(cannot_write(self._folder, error)) from error
        self._events = need("tensorboard.compat.proto.event_pb2", "tensorboard")
        self._summaries = need("tensorboard.compat.proto.summary_pb2", "tensorboard")
        self._tensors = need("tensorboard.compat.proto.tensor_pb2", "tensorboard")
        self._hparams = need("tensorboard.plugins.hparams.plugin_data_pb2", "tensorboard")
        self._file: Any = None

    def begin(self, name: str, config: Mapping[str, Scalar], *, first_step: int = 0) -> None:
        module = need("tensorboard.summary.writer.event_file_writer", "tensorboard")
        self._file = module.EventFileWriter(str(self._folder / name), max_queue_size=1000, flush_secs=_FLUSH_SECONDS)
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
        if self._file is not None:
            self._file.flush()

    def end(self, status: Status) -> None:
        ended = self._hparams.SessionEndInfo(end_time_secs=time.time())
        ended.status = 1 if status is Status.FINISHED else 2  # STATUS_SUCCESS, STATUS_FAILURE
        self._add_hparams("session_end_info", ended)
        self._file.close()
        self._file = None

    def _add(self, step: int, **content: Any) -> None:
        self._file.add_event(self._events.Event(wall_time=time.time(), step=step, **content))

    def _add_hparams(self, name: str, info: Any) -> None:
        content = self._hparams.HParamsPluginData(version=0, **{name: info}).SerializeToString()
        empty = self._tensors.TensorProto(dtype=1, float_val=[0.0])  # the plugin reads the metadata alone
        self._add_tensor(0, f"_hparams_/{name}", empty, plugin="hparams", content=content)

    def _add_tensor(self, step: int, tag: str, tensor: Any, *, plugin: str, content: bytes) -> None:
        kind = self._summaries.SummaryMetadata(plugin_data={"plugin_name": plugin, "content": content})
        value = self._summaries.Summary.Value(tag=tag, tensor=tensor, metadata=kind)
        self._add(step, summary=self._summaries.Summary(value=[value]))
