"""The journal as an audit trail: lines as they are hashed, and how far the chain of hashes has come.

Nothing is judged here. Whoever wants to know whether the journal is as it was written reckons the hashes themselves.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import ConfigDict, Field

from stead.access.policies import ACCESS, VIEW
from stead.api.identity import Who
from stead.api.models import AskedTime, ResponseModel
from stead.api.problems import ProblemResponse
from stead.api.routing import ApplicationDep, router
from stead.application import ArchivingFailed
from stead.application.audit import Audit

MEDIA = "application/jsonl"

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Archive(ResponseModel):
    """Lines that were taken out of the journal, and the file that they are in."""

    first: int
    last: int
    previous: str | None
    """The hash of the line before the first."""
    hash: str | None
    """Of the last."""
    until: datetime
    """Lines from before that are in files only."""
    file: str
    sha256: str
    """Of the file."""
    by: str
    at: datetime


class JournalHead(ResponseModel):
    """How far the chain of hashes has come."""

    position: int
    """Of the last line that has a hash."""
    hash: str
    after: int
    """The first line that has a hash comes after this position."""
    began_at: datetime
    end: int
    """The last position there is."""
    archives: list[Archive]
    """What was taken out of the journal, in order."""
    before: int | None
    """The last position of lines from before the time that was asked for."""


class NextArchive(ResponseModel):
    """What could be archived next: all lines of one day, and those that stand between them."""

    first: int
    last: int
    until: datetime
    """The end of the day."""
    pending: bool
    """Some have no position yet: ask again in a moment."""


class NextArchives(ResponseModel):
    """What could be archived next, or null."""

    next: NextArchive | None


class ArchiveRequest(ResponseModel):
    """Lines that are in a file, and are to be taken out of the journal."""

    model_config = ConfigDict(extra="forbid")

    first: Annotated[int, Field(ge=1, le=2**62)]
    last: Annotated[int, Field(ge=1, le=2**62)]
    previous: Hash | None
    hash: Hash | None
    digest: Hash
    """What the lines of the file come to, each hashed after the one before."""
    until: AskedTime
    file: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,200}$")]
    sha256: Hash


routes = router("journal")


@routes.get("/v1/cells/{cell}/journal/head")
async def read_head(
    application: ApplicationDep,
    caller: Who,
    before: Annotated[
        AskedTime | None, Query(description="A time, to be told the last position of lines from before it.")
    ] = None,
) -> JournalHead:
    """How far the chain of hashes has come. Whoever keeps position and hash elsewhere can tell later whether
    anything up to there has become different."""
    audit, authorized = Audit(application), application.authorization.require(caller, VIEW)
    found = await audit.head(authorized)
    return JournalHead(
        position=found["position"],
        hash=found["hash"].hex(),
        after=found["after"],
        began_at=found["began_at"],
        end=found["last_position"],
        archives=[_archive(record) for record in await audit.archives(authorized)],
        before=await audit.last_before(before, authorized) if before is not None else None,
    )


@routes.get(
    "/v1/cells/{cell}/journal/export",
    response_class=Response,
    responses={200: {"content": {MEDIA: {"schema": {"type": "string"}}}}},
)
async def export_journal(
    application: ApplicationDep,
    caller: Who,
    after: Annotated[int, Query(ge=0, le=2**62, description="From after this position on.")] = 0,
    limit: Annotated[int, Query(ge=1, le=5000, description="At most so many, but for ties.")] = 1000,
) -> Response:
    """The journal as it is hashed: a JSON object in each line, with `hash` and, last, `line`.

    The hash is the SHA-256 of the hash of the line before, in 32 bytes, followed by the bytes of `line`.
    It is for those who may see the whole cell.
    """
    authorized = application.authorization.require(caller, VIEW)
    lines = await Audit(application).lines(after, limit, authorized)
    body = "".join(f'{{"hash":{_quoted(x.hash)}{_times(x.times)},"line":{x.text}}}\n' for x in lines)
    return Response(body, media_type=MEDIA)


@routes.get("/v1/cells/{cell}/journal/archives/next")
async def next_archive(
    application: ApplicationDep,
    caller: Who,
    before: Annotated[AskedTime, Query(description="Lines from before this time.")],
) -> NextArchives:
    """What could be archived next. Lines go by days, a day at a time, and never those of today."""
    authorized = application.authorization.require(caller, ACCESS)
    found = await Audit(application).next_archive(before, authorized)
    if found is None or found["last"] is None or found["last"] < found["first"]:
        return NextArchives(next=None)
    return NextArchives(
        next=NextArchive(first=found["first"], last=found["last"], until=found["until"], pending=found["missing"])
    )


@routes.post("/v1/cells/{cell}/journal/archives", status_code=201)
async def archive_journal(application: ApplicationDep, body: ArchiveRequest, caller: Who) -> Archive:
    """Take lines out of the journal that are in a file: `stead journal archive` writes it first.

    They go only if the digest is that of what is in the database. The same once more is answered alike.
    """
    authorized = application.authorization.require(caller, ACCESS)
    start = bytes.fromhex(body.previous) if body.previous is not None else genesis(body.first - 1)
    what = body.model_dump(mode="json", exclude={"digest"})
    try:
        found = await Audit(application).archive(what, bytes.fromhex(body.digest), start, authorized)
    except ArchivingFailed as error:
        raise ProblemResponse("not-archived", str(error)) from None
    return _archive(found)


def genesis(after: int) -> bytes:
    """What stands for all that was before the first line that has a hash."""
    return hashlib.sha256(f"stead journal after {after}".encode()).digest()


def _archive(record: Any) -> Archive:
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in record.items()}
    return Archive(**plain)


def _quoted(hash: bytes | None) -> str:
    return "null" if hash is None else f'"{hash.hex()}"'


def _times(times: int) -> str:
    """How often, which is counted after the line was hashed."""
    return f',"times":{times}' if times > 1 else ""
