"""Orders on their way to agents: slots, publishing, custody."""
