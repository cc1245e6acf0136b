"""Files that the page offers, and how an auditor verifies them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

import memoranda_verify


def download(page: Page, button: Any) -> Path:
    with page.expect_download() as started:
        button.click()
    return Path(started.value.path())


def verify(claim: str, file: Path, *options: str) -> int:
    """Run the verifier that stands alone; return its exit code."""
    return memoranda_verify.main([claim, str(file), *options])


def unpack(archive: Path, folder: Path) -> list[str]:
    """Unpack an archive, with a check of each file; return their names."""
    with zipfile.ZipFile(archive) as files:
        assert files.testzip() is None
        files.extractall(folder)
        return files.namelist()
