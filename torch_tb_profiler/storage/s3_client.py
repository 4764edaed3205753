"""The S3 client: answers count as progress, and its own retries end soon."""

from __future__ import annotations

from typing import Any

from aiobotocore.httpsession import AIOHTTPSession  # type: ignore[import-untyped]
from s3fs import S3FileSystem  # type: ignore[import-untyped]

from torch_tb_profiler.storage.deadlines import report_progress


class ProgressSession(AIOHTTPSession):  # type: ignore[misc]  # it has no types
    """Reports every answer as progress."""

    async def send(self, request: Any) -> Any:
        """As the base class, which also reads the body of an answer that is not an object."""
        response = await super().send(request)
        report_progress()
        return response


class S3Client(S3FileSystem):  # type: ignore[misc]  # as above
    """s3fs with fewer retries of its own: botocore adds some to each of them."""

    retries = 2
