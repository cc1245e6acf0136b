"""Generate the protocol buffers of the wire, and their Python code, from the registry of calls.

Those of Statehouse are written by hand, and only compiled here. Their code is placed below
`memoranda`, since the package `statehouse` is that of the public client.

Run without arguments to write them, with `--check` to learn whether they are up to date. The
numbers of fields are kept in `numbers.json`: commit it with the rest, and never change one.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.resources import files as resources
from pathlib import Path

from grpc_tools import protoc

from memoranda.wire import numbers as field_numbers
from memoranda.wire import schema
from memoranda.wire.numbers import Numbers
from memoranda.wire.proto_text import render

ROOT = Path(__file__).parents[1]
PROTOS = ROOT / "proto"
NUMBERS = PROTOS / "memoranda" / "v1" / "numbers.json"
PROTO = NUMBERS.with_name("memoranda.proto")
CODE = ROOT / "src" / "memoranda" / "wire" / "v1"
STATEHOUSE_PROTO = PROTOS / "statehouse" / "v1" / "statehouse.proto"
STATEHOUSE_CODE = ROOT / "src" / "memoranda" / "server" / "statehouse"


def main() -> int:
    """Write the files, or compare them."""
    files = generate()
    stale = [
        path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run `make generate`")
        return 1 if stale else 0
    for path in stale:
        path.write_text(files[path], "utf-8")
    return 0


def generate() -> dict[Path, str]:
    """Return every file with its text."""
    known: Numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    if (CODE / "memoranda_pb2.py").exists():
        field_numbers.check_unchanged(compiled_numbers(), known)
    specs = schema.messages()
    numbers = field_numbers.assign(known, specs)
    proto = render(schema.methods(), specs, numbers)
    text = json.dumps(numbers, indent=1) + "\n"
    statehouse = STATEHOUSE_PROTO.read_text("utf-8")
    return {
        NUMBERS: text,
        PROTO: proto,
        **compile_proto(PROTO, proto, CODE),
        **compile_proto(STATEHOUSE_PROTO, statehouse, STATEHOUSE_CODE),
    }


def compiled_numbers() -> Numbers:
    """Return the numbers that the committed code has."""
    from memoranda.wire.v1 import memoranda_pb2

    return field_numbers.numbers_in(memoranda_pb2.DESCRIPTOR.message_types_by_name)


def compile_proto(path: Path, proto: str, code: Path) -> dict[Path, str]:
    """Return the Python code of a .proto with this text, and its types, by where they are placed.

    The path below `proto` is part of the code.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / path.relative_to(PROTOS)
        source.parent.mkdir(parents=True)
        source.write_text(proto, "utf-8")
        includes = [f"-I{folder}", f"-I{resources('grpc_tools') / '_proto'}"]
        arguments = [*includes, f"--python_out={folder}", f"--pyi_out={folder}", str(source)]
        if protoc.main(["protoc", *arguments]) != 0:
            raise SystemExit(f"{path.name} cannot be compiled")
        names = (f"{path.stem}_pb2.py", f"{path.stem}_pb2.pyi")
        return {code / name: source.with_name(name).read_text("utf-8") for name in names}


if __name__ == "__main__":
    sys.exit(main())
