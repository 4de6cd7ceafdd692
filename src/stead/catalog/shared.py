"""What the VMs of a region share: a network, a security group, a key.

All three have the same short life. They are made once, whoever asks for them and however many do at once; an
infrastructure that needs one uses it, by a claim of intention, for as long as it has VMs, and what is used is not
deleted.
"""

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import LEAVE, MINUTE, Action, Actor, absent, stable, transitional


def _shared(kind: str, description: str) -> Lifecycle:
    return Lifecycle(
        kind=kind,
        description=description,
        states=(
            absent("Absent", "There is none."),
            transitional("Creating", "The provider is making it.", 10 * MINUTE),
            stable("Available", "It is there, and can be used."),
            transitional("Deleting", "It is being removed for good.", 10 * MINUTE),
            stable("Failed", "The provider would not make it, or not remove it.", observed_as=""),
            stable("Undefined", "Nobody could tell what became of it.", observed_as="", probe_first=True),
        ),
        actions=(
            Action(
                "create",
                "Make it.",
                ("Absent", "Failed"),
                ("Creating",),
                "Available",
                on_failure="Failed",
                actors=(Actor.USER, Actor.CONTROLLER),
                on_timeout="Undefined",
                rollback=LEAVE,
            ),
            Action(
                "delete",
                "Remove it for good.",
                ("Available", "Failed", "Undefined"),
                ("Deleting",),
                "Absent",
                on_failure="Failed",
                actors=(Actor.USER, Actor.CONTROLLER),
                on_timeout="Undefined",
                rollback=LEAVE,
            ),
        ),
        drift_states=("Available", "Undefined"),
        on_absent="Absent",
        on_broken="Undefined",
    )


NETWORK = _shared("network", "A network of VMs in a region, with its subnet.")
SECURITYGROUP = _shared("securitygroup", "What traffic is let through to VMs of a network.")
SSHKEY = _shared("sshkey", "A public key that VMs of a region let in.")
