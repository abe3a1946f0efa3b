"""Safety: caps, the spike guard, the gate, and the base schedule it falls to."""
