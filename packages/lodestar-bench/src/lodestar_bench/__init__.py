"""The bench: the paper's test models and every baseline, under one protocol. JAX; nothing else imports it."""
