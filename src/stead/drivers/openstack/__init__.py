"""OpenStack: a project of a cloud, with its servers, networks, security groups and keys."""
