"""Who is who on the bus: keys, certificates, the words by which NATS knows users, and folders that hold an identity.

It imports nothing of ours. What an identity may do is told to it as lists of subjects.
"""
