"""One thread a product, for a process whose runs share the cores among themselves."""

import os


def one_thread() -> None:
    """Ask it of JAX, which reads this when it first computes; processes that are started later inherit it.

    For a command's beginning, never where a module is imported: rounding depends on it.
    """
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
