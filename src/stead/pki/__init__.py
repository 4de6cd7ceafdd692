"""Who is who on the bus: keys, certificates, the words by which NATS knows users, and folders that hold an identity.

Of the bus it knows the names alone: which subjects there are, and who may speak on them.
"""
