"""LXD, for the kind `vm`: a project of an LXD server is a region, and an instance in it is a member."""
