"""Who asks, and what they may: callers, tokens, logins, roles and policies."""
