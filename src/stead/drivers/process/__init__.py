"""Real processes on the machine of an edge site: a cluster is an isolated place there, an app a process in it.

Where to look: `driver` has the settings. `site` takes calls and gives them to `clusters` and `apps`, which keep what
is wanted in `folders`, as `spec` reads it. What an app really is they leave to a `runner`: here that is `processes`,
with a `keeper` for each. Containers have another in `stead.drivers.podman`, which shares all the rest. `machine` and
`cgroups` hold things to their limits, and `logs` reads what an app wrote.
"""
