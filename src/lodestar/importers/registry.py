"""The sources we can read: one entry each, from which the command line makes its commands.

Comes in: a kind and an address. Goes out: an open reader. Importing this imports no reader: `--help` stays quick. To
add one, write its file and its entry here.
"""

import dataclasses
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lodestar.importers.reader import AbstractReader


@dataclasses.dataclass(frozen=True)
class ReaderOption:
    """A keyword of a reader's class, and so an option of its command; `many`: may be given several times (a tuple).

    `allowed` are the only words it takes, the first of them the default.
    """

    keyword: str
    metavar: str
    text: str
    many: bool = False
    allowed: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ReaderEntry:
    """A reader: its class as "module:Class", and what the command's help says.

    `folder_reader` takes the place of `reader` where the address is a file or folder on this machine. `files`: the
    address is one or more files, `--rebuild-lr` is off unless asked for, and what trackers call a quantity is a column.
    """

    name: str
    reader: str
    title: str
    address: str
    details: str
    examples: tuple[str, ...]
    choices: tuple[ReaderOption, ...] = ()
    folder_reader: str | None = None
    files: bool = False

    @property
    def noun(self) -> str:
        """What a logged curve is called there."""
        return "column" if self.files else "quantity"


_HOME = "lodestar.importers.readers"
_ALL = (
    ReaderEntry(
        "table",
        f"{_HOME}.table:TableReader",
        "Import CSV, TSV, JSON or Parquet tables of runs.",
        "Tables (.csv .tsv .jsonl .json .parquet), or folders of them.",
        "A table has a row for each run and step, or a column for each run; or there is a file for each run. Columns "
        "are guessed from their names, and the guess is shown. Name a COLUMN to override it, or 'none' to say there is "
        "no such column. Blank cells mean 'not logged at that step', so validation may be rare. Steps logged twice (a "
        "resumed run) are merged, the last wins. Runs that break a rule are left out, and listed with the reason.",
        (
            "sweep.csv --out runs",
            "wandb_export.csv --out runs --metric val_f1 --direction max",
            "logs/ --out runs --dry-run",
        ),
        (
            ReaderOption(
                "run",
                "COLUMN",
                "The run's name, or COLUMN,COLUMN that tell runs apart together. None: a file is a run.",
            ),
            ReaderOption("status", "COLUMN", "How the run ended: finished, diverged, killed, ..."),
            ReaderOption(
                "layout", "auto|long|wide", "A row, or a column, for each run.", allowed=("auto", "long", "wide")
            ),
        ),
        files=True,
    ),
    ReaderEntry(
        "mlflow",
        f"{_HOME}.mlflow:MlflowReader",
        "Import runs from MLflow: a server, an SQLite store, or an old mlruns folder.",
        "http(s)://HOST:PORT, sqlite:///FILE or FILE.db, a folder (mlruns), or any tracking URI.",
        "Whole histories are read, never sampled ones. For a server that asks who you are, set "
        "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN. The task of a run is the "
        "name of its experiment. Deleted runs are left out.",
        (
            "http://localhost:5000 --out runs",
            "sqlite:///mlflow.db --out runs --experiment cifar --experiment digits",
            "mlruns --out runs --metric val_acc --direction max",
        ),
        (ReaderOption("experiment", "NAME", "Only this experiment; may be given several times.", many=True),),
    ),
    ReaderEntry(
        "wandb",
        f"{_HOME}.wandb:WandbReader",
        "Import runs from Weights & Biases: a project, or offline folders.",
        "ENTITY/PROJECT, or a folder that holds offline runs (wandb/offline-run-...).",
        "Histories are read whole, quantity by quantity, never the sampled ones. Log in first (wandb login, or set "
        "WANDB_API_KEY); folders need no account.",
        ("my-team/my-project --out runs", "./wandb --out runs --step trainer/global_step"),
        folder_reader=f"{_HOME}.wandb_offline:WandbOfflineReader",
    ),
    ReaderEntry(
        "tensorboard",
        f"{_HOME}.tensorboard:TensorboardReader",
        "Import runs from TensorBoard event files.",
        "A folder of event files, at any depth: each folder that holds some is a run.",
        "Scalars and scalar tensors, all of them. Several event files in one folder are one run that was resumed.",
        ("lightning_logs --out runs", "logs --out runs --loss train/loss --metric val/acc"),
    ),
    ReaderEntry(
        "lightning",
        f"{_HOME}.lightning:LightningReader",
        "Import runs from Lightning's CSV logs (metrics.csv).",
        "A metrics.csv, or a folder that holds some at any depth.",
        "The columns of LearningRateMonitor are read as learning rates; hparams.yaml is read as the config.",
        ("lightning_logs --out runs", "logs --out runs --lr lr-AdamW/pg2"),
    ),
    ReaderEntry(
        "huggingface",
        f"{_HOME}.huggingface:HuggingfaceReader",
        "Import runs of the Hugging Face Trainer (trainer_state.json).",
        "A trainer_state.json, or a folder of output folders: the latest checkpoint of each is read.",
        "The state file holds loss, learning rate and evaluations at their optimizer steps.",
        ("outputs --out runs", "outputs --out runs --metric eval_f1"),
    ),
    ReaderEntry(
        "optuna",
        f"{_HOME}.optuna:OptunaReader",
        "Import the trials of an Optuna study.",
        "The study's storage: sqlite:///FILE, FILE.db, a journal file, or any database URL.",
        "Intermediate values are the quantity 'value', the metric unless told otherwise. User attributes that are "
        "lists of numbers are curves too: trial.set_user_attr('loss', [...]). Parameters are the config. A trial "
        "without a loss curve cannot be stored: --loss value takes the intermediate values for it.",
        ("sqlite:///study.db --out runs", "journal.log --out runs --study digits --loss value"),
        (ReaderOption("study", "NAME", "Only this study; may be given several times.", many=True),),
    ),
    ReaderEntry(
        "ray",
        f"{_HOME}.ray_tune:RayTuneReader",
        "Import the trials of a Ray Tune experiment.",
        "The experiment's folder (such as ~/ray_results/train_2026-01-01_12-00-00), or a folder of those.",
        "Each trial's result.json and params.json are read; the step is training_iteration unless you name another.",
        ("~/ray_results --out runs", "~/ray_results/digits --out runs --step global_step"),
    ),
    ReaderEntry(
        "ultralytics",
        f"{_HOME}.ultralytics:UltralyticsReader",
        "Import Ultralytics (YOLO) trainings (results.csv).",
        "A results.csv, or a folder that holds some at any depth (runs/detect).",
        "Steps are epochs: Ultralytics logs once for each. args.yaml beside it is read as the config.",
        ("runs/detect --out runs", "runs/detect --out runs --loss train/box_loss --metric 'metrics/mAP50-95(B)'"),
    ),
)
READERS: dict[str, ReaderEntry] = {entry.name: entry for entry in _ALL}


def open_reader(kind: str, address: str | Sequence[str | Path], **options: object) -> "AbstractReader":
    """The reader of that kind at `address` (tables: at one or more)."""
    if kind not in READERS:
        raise ValueError(f"kind must be one of {', '.join(READERS)}, got {kind!r}")
    entry = READERS[kind]
    local = entry.folder_reader is not None and isinstance(address, str) and Path(address).expanduser().exists()
    module, name = str(entry.folder_reader if local else entry.reader).split(":")
    return getattr(importlib.import_module(module), name)(address, **options)
