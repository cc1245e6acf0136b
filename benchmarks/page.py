"""The page on a log of 1,000,000 events: a server in a process, and a real browser."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.report import Figure
from memoranda.server.http.page import page_root, walk
from tests.browser.browser import CHROMIUM, Viewer, open_browser
from tests.browser.pace import open_timeline, requests_of, step_times
from tests.bulk import write_events

EVENTS = 1_000_000
STEPS = 40
IDLE_SECONDS = 20
_IMPORT = re.compile(r'^import .* from "page/([^"]+)";$', re.MULTILINE)


def figures(path: Path) -> list[Figure]:
    """Return what the first view, a step and an idle page cost."""
    if CHROMIUM is None:
        print("THE PAGE IS NOT MEASURED: there is no chromium", file=sys.stderr)
        return []
    write_events(path, EVENTS)
    command = [sys.executable, "-m", "memoranda", "ui", str(path), "--json", "--embedder", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["url"]
            return _measure(address, server.pid)
        finally:
            server.send_signal(signal.SIGINT)


def _measure(address: str, server: int) -> list[Figure]:
    with open_browser() as browser:
        viewer = Viewer(browser, address.rstrip("/"))
        before = _cpu_seconds(server)
        open_timeline(viewer)
        first = _cpu_seconds(server) - before
        with requests_of(viewer) as requests:
            times = sorted(step_times(viewer, STEPS))
            step_requests = len(requests) / STEPS
        viewer.page.wait_for_timeout(1000)
        with requests_of(viewer) as idle:
            viewer.page.wait_for_timeout(IDLE_SECONDS * 1000)
        viewer.close()
    script = len(gzip.compress(initial_script()))
    log = f"{EVENTS:,} events"
    return [
        _figure("page: first view, server CPU", first * 1e3, 1000, "ms", log),
        _figure("page: a step, median", median(times), 100, "ms", log),
        _figure("page: a step, 95 %", times[int(0.95 * STEPS) - 1], 100, "ms", log),
        _figure("page: requests a step", step_requests, 6, "", log),
        _figure("page: requests a minute, idle", len(idle) * 60 / IDLE_SECONDS, 30, "", log),
        _figure("page: initial script, gzipped", script, 60_000, "bytes", "what is allowed"),
    ]


def _figure(work: str, ours: float, limit: float, unit: str, against: str) -> Figure:
    return Figure(work, ours, limit, unit, against, 1.0, 0.7, smaller_is_better=True)


def _cpu_seconds(process: int) -> float:
    """Return the time of all processors that a process has taken, as Linux counts it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def initial_script() -> bytes:
    """Return the scripts that are loaded before the first view: the libraries, and ours."""
    pages = dict(walk(page_root()))
    names, waiting = set(), ["app.js"]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += _IMPORT.findall(pages[name].decode())
    names |= {name for name in pages if name.endswith(".mjs")}
    return b"".join(pages[name] for name in sorted(names))
