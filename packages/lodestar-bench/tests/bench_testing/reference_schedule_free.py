"""Schedule-free SGD and AdamW in slow plain loops, from the equations of Defazio et al. 2024.

y = (1 - b) z + b x; z moves by the optimizer at y; x is the average of z, weighted by the highest rate so far squared.
"""

import math


def schedule_free(start, gradient, rates, b, decay, *, adam, b2=0.999, eps=1e-8):
    """x and y after each update."""
    x, y, z = list(start), list(start), list(start)
    v = [0.0] * len(x)
    weights, highest, path = 0.0, 0.0, []
    for t, rate in enumerate(rates, 1):
        g = gradient(y)
        highest = max(highest, rate)
        weights += highest**2
        share = highest**2 / weights
        for i in range(len(x)):
            step = g[i]
            if adam:
                v[i] = b2 * v[i] + (1 - b2) * g[i] ** 2
                step = g[i] / (math.sqrt(v[i] / (1 - b2**t)) + eps)
            z[i] -= rate * (step + decay * y[i])
            x[i] = (1 - share) * x[i] + share * z[i]
            y[i] = (1 - b) * z[i] + b * x[i]
        path.append((list(x), list(y)))
    return path
