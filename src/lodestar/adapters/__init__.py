"""Adapters: three lines in a training job, and its learning rate is steered. One file for each framework.

    lodestar.adapters.torch          LodestarLR            a torch LRScheduler
    lodestar.adapters.lightning      LodestarCallback      installs the scheduler, reads loss and metric
    lodestar.adapters.transformers   steer(trainer, ...)   the same for a Transformers Trainer
    lodestar.adapters.optax          LodestarSchedule      a StatefulSchedule for optax.inject_hyperparams
    lodestar.adapters.keras          LodestarCallback      Keras 3, any backend
    lodestar.adapters.loop           SteeredLoop           no framework
    lodestar.adapters.ranks          Ranked                many ranks: reduce, decide on rank 0, broadcast

Importing this package imports none of them, and no framework. Adapters never import one another; what they share lies
in the files with a leading underscore and in `ranks`.
"""
