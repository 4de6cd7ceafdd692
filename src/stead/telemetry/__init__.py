"""What a running cell says of itself: metrics, lines of the log, and traces."""
