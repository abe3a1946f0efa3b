"""Steps: Algorithm 1, a file for each step: encode, perturb, accept, score, average. `steer` takes them in order."""
