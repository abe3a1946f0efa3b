"""The paper's own figures, to set ours beside: Table 1, table A1, the cost table, the selection test.

Wiemann and Melchior, "Optimization as a Dynamical System: Generative Schedules from Latent ODEs" (2026). Tasks have the
names they have here, methods too. Facts and figures only.
"""

TABLE1 = {
    "fmnist-cnn": {
        "constant": (91.5, 0.1), "cosine": (92.5, 0.1), "onecycle": (92.9, 0.2), "step": (92.4, 0.2),
        "hypergradient": (92.8, 0.1), "rl-xu": (93.0, 0.1), "schedule-free": (93.6, 0.2), "lodestar-paper": (93.8, 0.2),
    },
    "fmnist-resnet18": {
        "constant": (91.9, 0.5), "cosine": (93.5, 0.1), "onecycle": (93.6, 0.1), "step": (93.5, 0.1),
        "hypergradient": (91.7, 0.5), "rl-xu": (92.9, 0.4), "schedule-free": (93.7, 0.1), "lodestar-paper": (93.9, 0.3),
    },
    "cifar100-resnet18": {
        "constant": (67.3, 0.6), "cosine": (71.2, 1.4), "onecycle": (74.0, 1.2), "step": (69.6, 0.9),
        "hypergradient": (70.3, 1.0), "rl-xu": (73.9, 0.9), "schedule-free": (71.1, 1.0), "lodestar-paper": (74.9, 0.9),
    },
    "imagenet-resnet34": {
        "constant": (61.7, 0.4), "cosine": (73.9, 0.4), "onecycle": (73.8, 0.5), "step": (66.1, 0.5),
        "hypergradient": (59.9, 0.5), "rl-xu": (71.6, 1.0), "schedule-free": (60.2, 0.8), "lodestar-paper": (74.5, 0.2),
    },
    "tinystories-gpt": {
        "constant": (57.9, 0.1), "cosine": (58.5, 0.1), "onecycle": (58.1, 0.2), "step": (58.3, 0.1),
        "hypergradient": (55.3, 0.4), "schedule-free": (56.3, 0.2), "lodestar-paper": (59.8, 0.2),
    },
}  # fmt: skip
"""Test accuracy in per cent: mean and standard deviation."""
P_VALUES = {
    "fmnist-cnn": 0.003,
    "fmnist-resnet18": 0.01,
    "cifar100-resnet18": 0.01,
    "imagenet-resnet34": 0.0005,
    "tinystories-gpt": 0.0001,
}
"""Two-sided t-test of theirs against the next best."""

RELATIVE_MSE = {
    "fmnist-cnn": {"loss": (0.177, 0.119), "lr": (0.287, 0.241), "metric": (0.041, 0.010)},
    "fmnist-resnet18": {"loss": (0.105, 0.106), "lr": (0.340, 0.151), "metric": (0.031, 0.003)},
    "cifar100-resnet18": {"loss": (0.028, 0.024), "lr": (0.335, 0.132), "metric": (0.011, 0.011)},
    "imagenet-resnet34": {"loss": (0.021, 0.014), "lr": (0.349, 0.100), "metric": (0.020, 0.016)},
    "tinystories-gpt": {"loss": (0.036, 0.008), "lr": (0.231, 0.131), "metric": (0.051, 0.021)},
}
"""Table A1: relative MSE with 5 % and with 50 % of a run seen."""
EVALUATIONS = 111
"""Evaluations of the field along a whole CIFAR-100 run (Tsit5 at 1e-5), mean of 100."""

EPOCH_SECONDS = {
    ("lodestar", 10.0, 20): 5.11,
    ("lodestar", 5.0, 20): 5.47,
    ("lodestar", 2.5, 20): 6.09,
    ("lodestar", 10.0, 40): 5.98,
    ("lodestar", 5.0, 40): 6.12,
    ("lodestar", 2.5, 40): 6.28,
    ("parametric", 0.0, 0): 4.79,
    ("hypergradient", 0.0, 0): 11.68,
    ("schedule-free", 0.0, 0): 5.01,
    ("rl-xu", 0.0, 0): 11.2,
}
"""Seconds an epoch of ResNet18 on CIFAR-100 takes on an A100: by method, window in per cent, samples."""
FIT_MINUTES, CONTROLLER_MINUTES = 60.0, 120.0
"""Their latent ODE took just under an hour, their RL controller two, on an A100."""

SELECTION = {
    "fmnist-cnn": (2, 94.3, 94.3),
    "fmnist-resnet18": (10, 93.9, 94.3),
    "cifar100-resnet18": (4, 73.8, 74.1),
    "imagenet-resnet34": (2, 74.4, 74.7),
    "tinystories-gpt": (2, 57.46, 57.47),
}
"""Rank of the run picked from the first epoch, of 100; its final accuracy; the best one's."""
