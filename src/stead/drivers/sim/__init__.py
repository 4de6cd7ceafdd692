"""A cloud that is none: a server with instances, tokens, regions and bad days, and the driver that speaks to it.

It behaves as a large public cloud does where that matters: tokens that make a creation repeatable, states that take
time, answers that get lost, reads that lag behind writes, limits. Every fault can be set while it runs. Beside that
it does what no cloud does: it says what was really done, and what was done twice.
"""
