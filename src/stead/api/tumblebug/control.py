"""Namespaces, and the VMs of an MCI."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from stead.api.identity import Who
from stead.api.problems import ProblemResponse
from stead.api.routing import QueriesDep, router
from stead.api.tumblebug.models import (
    IdList,
    MciInfo,
    MciStatus,
    NsInfo,
    NsList,
    VmInfoList,
    VmStatusList,
)
from stead.api.tumblebug.names import Id, MciPath
from stead.api.tumblebug.reads import Limit, Option, tumblebug_read_mci

routes = router("tumblebug", "/tumblebug/ns")


@routes.get("")
async def tumblebug_list_ns(
    queries: QueriesDep,
    caller: Who,
    option: Annotated[str | None, Query(pattern="^id$", description="`id`: ids alone.")] = None,
) -> NsList | IdList:
    """The namespaces in which there is something, or was, as far as they are for the caller."""
    names = [path.removeprefix("/") for path in await queries.namespaces()]
    return IdList(output=names) if option == "id" else NsList(ns=[NsInfo(id=name, name=name) for name in names])


@routes.get("/{nsId}")
async def tumblebug_read_ns(queries: QueriesDep, nsId: Id) -> NsInfo:  # noqa: N803 - the dialect's name
    """A namespace."""
    if f"/{nsId}" not in await queries.namespaces():
        raise ProblemResponse("not-found", f"there is nothing in the namespace {nsId}")
    return NsInfo(id=nsId, name=nsId)


@routes.get("/{nsId}/mci/{mciId}/vm")
async def tumblebug_list_vm(
    queries: QueriesDep,
    mci: MciPath,
    option: Option = "default",
    limit: Limit = 1000,
) -> VmInfoList | VmStatusList | IdList:
    """The VMs of an MCI."""
    found = await tumblebug_read_mci(queries, mci, option, limit)
    match found:
        case MciInfo():
            return VmInfoList(vm=found.vm)
        case MciStatus():
            return VmStatusList(vm=found.vm)
    return found
