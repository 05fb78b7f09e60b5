"""Changes beside fusion: what goes from a graph without any output changing by a bit."""
