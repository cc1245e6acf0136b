"""The page about settings is what the schema says, and its example is a file that is right."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from memoranda.cli.configuration.resolution import resolve
from memoranda.cli.configuration.settings import all_settings
from memoranda.server.jobs.settings import JobSettings

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


@pytest.mark.parametrize("page", ["reference/configuration.md", "howto/run-a-server.md"])
def test_the_examples_are_right(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "config.toml"
    names: set[str] = set()
    for example in examples:
        path.write_text(example)
        names |= {job.name for job in resolve(path, {}).configuration.jobs.scheduled}
    assert names == {"backup", "restore_drill"}


def test_the_page_about_servers_has_every_job_with_its_settings() -> None:
    text = (ROOT / "docs" / "howto" / "run-a-server.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*)\|$", text, re.MULTILINE)
    common = {"every", "at"}
    assert {name: set(re.findall(r"`(\w+)`", keys)) for name, keys in rows} == {
        field.name: {*field.type.__struct_fields__} - common
        for field in msgspec.structs.fields(JobSettings)
    }
