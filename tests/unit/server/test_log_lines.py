"""The log of a server: what it has a line for."""

from __future__ import annotations

import io
import json
import logging

from memoranda.server.log_lines import logging_to


class ExecuteBatchError(Exception):
    """Has the name of the error that gRPC logs when a client has gone."""


def test_a_client_that_went_away_has_no_line() -> None:
    output = io.StringIO()
    grpc = logging.getLogger("grpc._cython.cygrpc")
    with logging_to(output, "warning"):
        for error in (ExecuteBatchError(), ValueError("a text that may have content")):
            grpc.error("a call failed", exc_info=error)
        logging.getLogger("memoranda.server").info("below the level")
    (line,) = output.getvalue().splitlines()
    fields = json.loads(line)
    assert (fields["level"], fields["message"], fields["error"]) == (
        "error",
        "a call failed",
        "ValueError",
    )
    assert "content" not in line
