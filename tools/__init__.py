"""What the project uses to check and describe itself; none of it is shipped."""
