"""What goes over the wire of the dialect. The names are its own, and stay as they are there."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from stead.application.names import Name
from stead.application.storable import storable


class TumblebugAnswer(BaseModel):
    """Anything that is answered."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True)


class StatusCount(TumblebugAnswer):
    """How many VMs are in which state."""

    count_total: int = 0
    count_creating: int = 0
    count_running: int = 0
    count_failed: int = 0
    count_suspended: int = 0
    count_rebooting: int = 0
    count_terminated: int = 0
    count_suspending: int = 0
    count_resuming: int = 0
    count_terminating: int = 0
    count_undefined: int = 0


class VmStatus(TumblebugAnswer):
    """How a VM stands."""

    id: str
    """Subgroup and name, with a dash."""
    name: str
    sub_group_id: str
    status: str
    target_status: str
    """`None` once it is reached."""
    target_action: str
    """`None` once it is done."""
    connection_name: str
    """Provider and region, with a dash."""
    csp_resource_id: str
    """What the provider calls it; empty while that is not known."""
    public_ip: Annotated[str, Field(alias="publicIP")]
    """Empty where the driver does not tell."""
    system_message: str
    """The last error of a VM that failed or whose state is unknown."""
    created_time: str


class VmInfo(VmStatus):
    """A VM, with what it was made from."""

    spec_id: str
    image_id: str
    label: dict[str, str] = {}


class VmInfoList(TumblebugAnswer):
    """The VMs of an MCI."""

    vm: list[VmInfo]


class VmStatusList(TumblebugAnswer):
    """The VMs of an MCI, each with how it stands."""

    vm: list[VmStatus]


class NsInfo(TumblebugAnswer):
    """A namespace."""

    id: str
    name: str
    description: str = ""
    """Namespaces have none here."""


class NsList(TumblebugAnswer):
    """Namespaces."""

    ns: list[NsInfo]


class MciStatus(TumblebugAnswer):
    """How an MCI stands."""

    id: str
    name: str
    status: str
    """`(Partial-){Status}:{Count} (R:{Running}/{Total})`; without VMs, its phase of creation, `Failed` or `Empty`."""
    status_count: StatusCount
    target_status: str
    """`None` once it is reached."""
    target_action: str
    """`None` once it is done."""
    vm: list[VmStatus]
    """In order of subgroup and name; as many as `limit` says."""


class AcceptedMci(MciStatus):
    """An MCI whose creation was accepted, or that gets one more subgroup."""

    operation: str
    """Under which it is made, or the subgroup."""


class SubGroupInfo(TumblebugAnswer):
    """VMs that are alike."""

    id: str
    name: str
    sub_group_size: str
    status: str
    connection_name: str
    spec_id: str
    image_id: str
    label: dict[str, str] = {}


class SubGroupMembers(SubGroupInfo):
    """A subgroup with the ids of its VMs."""

    output: list[str]


class MciInfo(TumblebugAnswer):
    """An MCI with all that it consists of."""

    id: str
    name: str
    description: str
    status: str
    status_count: StatusCount
    target_status: str
    target_action: str
    system_message: str
    """Why it failed, where it did; the last error of its own."""
    sub_groups: list[SubGroupInfo]
    vm: list[VmInfo]
    label: dict[str, str] = {}
    spec: dict[str, Any]
    """The infrastructure as it was asked for, in the words of `/v1`."""


class MciList(TumblebugAnswer):
    """The MCIs of a namespace, each with how it stands; their VMs are left out."""

    mci: list[MciStatus]


class MciInfoList(TumblebugAnswer):
    """The MCIs of a namespace, each with its subgroups; their VMs are left out."""

    mci: list[MciInfo]


class IdList(TumblebugAnswer):
    """Ids alone."""

    output: list[str]


class AcceptedAction(TumblebugAnswer):
    """An action was let in."""

    message: str
    operation: str | None
    """Under which it is carried out, as in `/v1/operations`; none where there was nothing to do."""
    status: str
    """As it is now."""


Text = Annotated[str, StringConstraints(max_length=1000), AfterValidator(storable)]
Count = Annotated[int, BeforeValidator(lambda given: 1 if given in ("", None) else given)]


Label = Annotated[dict[Text, Text] | None, BeforeValidator(lambda given: given or None)]


class TumblebugRequest(BaseModel):
    """Anything that is asked for."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True, extra="forbid"
    )


class SubGroupRequest(TumblebugRequest):
    """VMs that are alike, as they are to be."""

    name: Name
    sub_group_size: Count = 1
    """A number, or a text that is one."""
    spec_id: Text = ""
    """Provider, region and the provider's name for a size, as in `aws+us-east-1+t3.small`; or the last alone."""
    common_spec: Text = ""
    """The older name of `specId`."""
    image_id: Text = ""
    common_image: Text = ""
    """The older name of `imageId`."""
    connection_name: Text = ""
    """Provider and region, as in `aws-us-east-1`, where the spec does not say."""
    provider: Text = ""
    region: Text = ""
    description: Text = ""
    """Not kept."""
    label: Label = None
    """Names and texts; its VMs have them."""
    root_disk_type: Text = ""
    root_disk_size: Text = ""
    vm_user_password: Text = ""


class MciRequest(TumblebugRequest):
    """An MCI as it is to be."""

    name: Name
    description: Text = ""
    policy_on_partial_failure: Literal["continue", "rollback", "refine"] = "continue"
    sub_groups: list[SubGroupRequest] = []
    vm: list[SubGroupRequest] = []
    """The older name of `subGroups`."""
    label: Label = None
    """Names and texts; all VMs have them."""
    system_label: Any = None
    """Not kept."""
    install_mon_agent: Text = ""
    post_command: Annotated[dict[str, Any] | None, AfterValidator(storable)] = None


class ScaleRequest(TumblebugRequest):
    """How many VMs a subgroup is to have more, or less."""

    num_vms_to_add: Annotated[int | None, Field(alias="numVMsToAdd", ge=1)] = None
    """A number, or a text that is one."""
    num_vms_to_remove: Annotated[int | None, Field(alias="numVMsToRemove", ge=1)] = None
    """With `action=scaleIn`: a number, or a text that is one."""
