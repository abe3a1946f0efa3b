"""Steps: Algorithm 1, a file for each step: encode, perturb, accept, score, average."""
