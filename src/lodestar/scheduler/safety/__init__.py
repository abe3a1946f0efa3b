"""Safety: caps, the spike guard and the gate."""
