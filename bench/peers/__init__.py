"""What the same job costs on three libraries that also keep their work in PostgreSQL.

Each is set up as its own documentation advises and tuned on the machine at hand; what was tried stands beside the
settings that were kept. They start from nothing and do one thing, which is described in `work`.
"""
