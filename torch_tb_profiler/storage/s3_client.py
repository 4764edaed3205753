"""The S3 client: its requests count as progress, and its own tries end soon."""

from __future__ import annotations

from typing import Any

from aiobotocore.httpsession import AIOHTTPSession  # type: ignore[import-untyped]
from s3fs import S3FileSystem  # type: ignore[import-untyped]

from torch_tb_profiler.storage.deadlines import progressed


class ProgressSession(AIOHTTPSession):  # type: ignore[misc]  # it has no types
    """Tells of every request that was answered."""

    async def send(self, request: Any) -> Any:
        """As the base class, which also reads the body of an answer that is no object."""
        response = await super().send(request)
        progressed()
        return response


class S3Client(S3FileSystem):  # type: ignore[misc]  # as above
    """s3fs with fewer tries of its own: botocore makes some for each of them."""

    retries = 2
