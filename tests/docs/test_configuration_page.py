"""The page about settings is what the schema says, and its example is a file that is right."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from memoranda.cli.configuration.resolution import resolve
from memoranda.cli.configuration.settings import all_settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"


def generator() -> ModuleType:
    name = "generate_configuration_docs"
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == generator().generate(), "run `make generate`"


def test_the_page_has_every_variable() -> None:
    text = PAGE.read_text("utf-8")
    for setting in all_settings().values():
        assert f"`{setting.variable}`" in text


def test_the_example_is_right(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "config.toml"
    path.write_text(example)
    jobs = resolve(path, {}).configuration.jobs
    assert [job.name for job in jobs.scheduled] == ["backup", "restore_drill"]
