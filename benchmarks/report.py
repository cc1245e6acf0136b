"""The report: a table in Markdown and a plot in SVG, both of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measurement beside its limit."""

    work: str
    ours: float
    limit: float
    unit: str
    against: str
    must: float
    wanted: float
    smaller_is_better: bool = False

    @property
    def ratio(self) -> float:
        return self.ours / self.limit

    @property
    def verdict(self) -> str:
        if self._reaches(self.wanted):
            return "wanted"
        return "met" if self._reaches(self.must) else "NOT MET"

    def _reaches(self, target: float) -> bool:
        return self.ratio <= target if self.smaller_is_better else self.ratio >= target


def table(figures: Sequence[Figure], conditions: str) -> str:
    lines = [
        "# Benchmark results",
        "",
        conditions,
        "",
        "| work | ours | against | limit | ratio | must | wanted | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [row(figure) for figure in figures]
    return "\n".join(lines) + "\n"


def row(figure: Figure) -> str:
    """Return a figure as a row of the table."""
    sign = "≤" if figure.smaller_is_better else "≥"
    return (
        f"| {figure.work} | {figure.ours:,.0f} {figure.unit} | {figure.against} "
        f"| {figure.limit:,.0f} {figure.unit} | **{figure.ratio:.2f}** "
        f"| {sign} {figure.must} | {sign} {figure.wanted} | {figure.verdict} |"
    )


def plot(figures: Sequence[Figure]) -> str:
    """Return bars of the ratios, with a mark for what must be and one for what is wanted."""
    scale, height, remainder = 110, 34, 330
    widest = max(max(figure.ratio, figure.wanted) for figure in figures)
    width = remainder + int(widest * scale) + 90
    rows = []
    for index, figure in enumerate(figures):
        top = 40 + index * height
        colour = {"wanted": "#2a9d5c", "met": "#5b8def", "NOT MET": "#d1495b"}[figure.verdict]
        rows.append(
            f'<text x="{remainder - 10}" y="{top + 15}" text-anchor="end">{figure.work}</text>'
            f'<rect x="{remainder}" y="{top}" width="{figure.ratio * scale:.0f}" height="20" '
            f'fill="{colour}"/>'
            f'<text x="{remainder + figure.ratio * scale + 6:.0f}" y="{top + 15}">'
            f"{figure.ratio:.2f}</text>"
        )
        for target, dash in ((figure.must, ""), (figure.wanted, 'stroke-dasharray="3 2"')):
            x = remainder + target * scale
            rows.append(
                f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{top - 4}" y2="{top + 24}" '
                f'stroke="#333" stroke-width="2" {dash}/>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{60 + len(figures) * height}" font-family="sans-serif" font-size="13">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="10" y="22" font-weight="bold">Ratio to the limit (line: must, dashed: '
        f"wanted)</text>{''.join(rows)}</svg>\n"
    )


def write(figures: Sequence[Figure], conditions: str, folder: Path) -> str:
    """Write both files and return the table."""
    folder.mkdir(parents=True, exist_ok=True)
    text = table(figures, conditions)
    (folder / "results.md").write_text(text, "utf-8")
    (folder / "ratios.svg").write_text(plot(figures), "utf-8")
    return text
