"""Exit with 0 if the server at a port of this machine says that it is ready, over TLS or not."""

from __future__ import annotations

import ssl
import sys
import urllib.request
from http import HTTPStatus
from urllib.error import URLError

TIMEOUT_SECONDS = 4.0


def is_ready(port: int) -> bool:
    """Ask the server; its certificate is for another name than 127.0.0.1, and not checked."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for scheme in ("https", "http"):
        url = f"{scheme}://127.0.0.1:{port}/readyz"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS, context=context) as answer:
                return bool(answer.status == HTTPStatus.OK)
        except (URLError, OSError):
            continue
    return False


if __name__ == "__main__":
    sys.exit(0 if is_ready(int(sys.argv[1])) else 1)
