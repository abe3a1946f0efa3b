"""Hypergradient descent in slow plain loops, from the algorithms of Baydin et al. 2018 (SGDN-HD and Adam-HD).

Every weight is a number in a list; nothing is shared with the code under test.
"""

import math


def sgdn_hd(start, gradient, alpha, beta, updates, momentum):
    """alpha_t = alpha_{t-1} - beta g_t . grad_alpha u_{t-1}; v = mu v + g; u = -alpha (g + mu v)."""
    theta = list(start)
    velocity = [0.0] * len(theta)
    slope_of_u = [0.0] * len(theta)
    path = []
    for _ in range(updates):
        g = gradient(theta)
        h = sum(g[i] * slope_of_u[i] for i in range(len(theta)))
        alpha = alpha - beta * h
        for i in range(len(theta)):
            velocity[i] = momentum * velocity[i] + g[i]
            u = -alpha * (g[i] + momentum * velocity[i])
            slope_of_u[i] = -g[i] - momentum * velocity[i]
            theta[i] = theta[i] + u
        path.append((list(theta), alpha))
    return path


def adam_hd(start, gradient, alpha, beta, updates, b1=0.9, b2=0.999, eps=1e-8):
    """The same with u = -alpha m^ / (sqrt(v^) + eps)."""
    theta = list(start)
    m, v = [0.0] * len(theta), [0.0] * len(theta)
    slope_of_u = [0.0] * len(theta)
    path = []
    for t in range(1, updates + 1):
        g = gradient(theta)
        h = sum(g[i] * slope_of_u[i] for i in range(len(theta)))
        alpha = alpha - beta * h
        for i in range(len(theta)):
            m[i] = b1 * m[i] + (1 - b1) * g[i]
            v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i]
            slope_of_u[i] = -(m[i] / (1 - b1**t)) / (math.sqrt(v[i] / (1 - b2**t)) + eps)
            theta[i] = theta[i] + alpha * slope_of_u[i]
        path.append((list(theta), alpha))
    return path
