"""What a metric's name says: whether more is better. For imports and for a live job; NumPy-free.

To teach Lodestar a new word, add it here.
"""

import itertools
import re

from lodestar.runs.run import Direction

LOSS = {"loss", "nll", "ce", "crossentropy", "xent", "objective", "cost"}
HIGHER = {
    *("acc", "accuracy", "f1", "auc", "auroc", "bleu", "rouge", "map", "iou", "miou", "dice", "precision", "recall"),
    *("score", "reward", "return", "top1", "top5", "acc1", "acc5", "r2", "psnr", "ssim", "ndcg", "mrr", "kappa", "mcc"),
    *("correct", "winrate", "ap", "map50"),
}
LOWER = LOSS | {
    *("error", "err", "perplexity", "ppl", "bpb", "bpc", "rmse", "mse", "mae", "mape", "wer", "cer", "fid", "logloss"),
    *("brier", "regret", "deviance", "rmsle"),
}
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")


def tokens(name: str) -> set[str]:
    """The words in a name: 'trainLoss', 'train/loss' and 'TRAIN_LOSS' read alike; 'learning rate' and 'top-1' too."""
    split = _CAMEL.sub(r"\1_\2", name).lower()
    words = [word for word in re.split(r"[^a-z0-9]+", split) if word]
    return {*words, *(one + other for one, other in itertools.pairwise(words))}


def guess_direction(metric: str) -> Direction | None:
    """Whether more is better, judged by the metric's name; None if the name does not tell."""
    parts = tokens(metric)
    if parts & HIGHER:
        return Direction.MAX
    return Direction.MIN if parts & LOWER else None
