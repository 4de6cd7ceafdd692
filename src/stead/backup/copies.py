"""Copies of a backup on other machines: in a folder that is mounted from there, or at an S3 address."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

S3 = "s3://"


class CopyFailed(Exception):
    """There is no copy; the message says why."""


async def copy(file: Path, to: str) -> str:
    """Copy a backup into a folder or below an S3 address; where the copy is."""
    return await asyncio.to_thread(_to_s3 if to.startswith(S3) else _to_folder, file, to)


def _to_folder(file: Path, folder: str) -> str:
    """Under its name, the copy is there when all of it is on the disk."""
    target = Path(folder) / file.name
    part = target.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        if target.exists():
            raise CopyFailed(f"{target} is there already")
        try:
            with file.open("rb") as source, os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
                shutil.copyfileobj(source, out)
                out.flush()
                os.fsync(out.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise CopyFailed(f"{target}: {error.strerror or error}") from error
    return str(target)


def _to_s3(file: Path, address: str) -> str:
    """With the endpoint and the credentials that other programs of AWS find, too."""
    try:
        import boto3  # noqa: PLC0415 - takes long, and is not always installed
        from boto3.exceptions import S3UploadFailedError  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
    except ImportError:
        raise CopyFailed("copies at S3 addresses need boto3: pip install 'stead[s3]'") from None
    bucket, _, folder = address.removeprefix(S3).partition("/")
    key = "/".join(part for part in (folder.strip("/"), file.name) if part)
    target = f"{S3}{bucket}/{key}"
    try:
        client = boto3.client("s3")
        found = client.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1).get("Contents", ())
        if any(one["Key"] == key for one in found):
            raise CopyFailed(f"{target} is there already")
        client.upload_file(str(file), bucket, key, ExtraArgs={"ChecksumAlgorithm": "SHA256"})
        size = client.head_object(Bucket=bucket, Key=key)["ContentLength"]
    except (BotoCoreError, ClientError, S3UploadFailedError) as error:
        raise CopyFailed(f"{target}: {error}") from error
    if size != file.stat().st_size:
        raise CopyFailed(f"{target} has {size:,} bytes of {file.stat().st_size:,}")
    return target
