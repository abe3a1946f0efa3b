"""PyTorch: a learning-rate scheduler like any other, in a loop of your own or under Accelerate.

Comes in: an optimizer and a forecaster. Goes out: `LodestarLR`, a torch `LRScheduler`: ratios of param groups kept,
tensor rates filled in place, plain `state_dict`, any order of loading. Read `_lr_scheduler.py` for how it counts steps.

    scheduler = LodestarLR(optimizer, "forecaster.lodestar", total_steps=1000)
    ...
        optimizer.step()
        scheduler.step(loss=loss)             # after every update
    scheduler.observe(metric=accuracy)        # after every validation
"""

from lodestar.adapters._lr_scheduler import LodestarLR as LodestarLR
