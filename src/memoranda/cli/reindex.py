"""The command that brings the indexes up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.embedders import takes_embedder
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import warn, write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import counted, safe

if TYPE_CHECKING:
    from memoranda.search.reindexing import Reindexed


@click.command()
@takes_embedder
@takes_target
def reindex(target: Target, *, embedder: str | None) -> None:
    """Index what waits to be indexed, and give every passage a vector.

    Both are otherwise done behind the commits. Vectors of another model are dropped and made anew.
    It may be stopped: the next time, it goes on from there.
    """
    with target.store(embedder=embedder) as store:
        with meter("Indexing") as progress:
            text = store.reindex(vectors=False, progress=progress)
        with meter("Embedding") as progress:
            vectors = store.reindex(text=False, progress=progress)
    if target.as_json:
        write_json(
            {
                "commits": text.commits,
                "vectors": vectors.vectors,
                "model": vectors.model,
                "replaced": vectors.replaced,
            }
        )
        return
    click.echo(_said(text, vectors))
    if vectors.model is None:
        warn("there is no embedder, so there are no vectors: pip install 'memoranda[embeddings]'")


def _said(text: Reindexed, vectors: Reindexed) -> str:
    parts = []
    if text.commits:
        parts.append(f"indexed {counted(text.commits, 'commit')}")
    if vectors.replaced is not None:
        parts.append(f"dropped the vectors of {safe(vectors.replaced)}")
    if vectors.vectors:
        parts.append(
            f"embedded {counted(vectors.vectors, 'passage')} by {safe(vectors.model or '')}"
        )
    if not parts:
        return "Nothing to do: all is indexed."
    told = ", ".join(parts)
    return f"{told[0].upper()}{told[1:]}."
