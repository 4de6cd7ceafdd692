"""Amazon EC2, and whatever else speaks its interface."""
