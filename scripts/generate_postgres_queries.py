"""Derive the PostgreSQL queries from those of SQLite, with the store's id on every table.

Each query is parsed, changed and written again, so that nobody repeats a query by hand, and none
can forget the tenant: a table without `store_id` is an error here. Four things change:

- Every table is of the schema `memoranda`, and restricted to `:store_id`.
- A list, which SQLite reads with `json_each`, becomes typed rows. A type is that of the column
  which an element is compared with.
- What is joined to a list is looked up for each of its rows, in the order of the text; so is what
  SQLite's text joins by CROSS JOIN.
- What PostgreSQL sorts or bounds otherwise: NULL comes first, and a limit of -1 is none.

What truly differs has a text of its own in `storage/postgres/queries.sql`. Queries of the full-text
index and of vectors stay with SQLite, in a file beside the database.

    python scripts/generate_postgres_queries.py [--check]
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import sqlglot
from sqlglot import exp

from memoranda.sdk.open import load_queries
from memoranda.storage import query_loader
from memoranda.storage.sqlite import row_policies, schema
from memoranda.storage.sqlite.connection import open_untrusted

PACKAGE = Path(__file__).parent.parent / "src" / "memoranda" / "storage" / "postgres"
SCHEMA = "memoranda"
INDEX_TABLES = frozenset({"passage", "shelf", "vector", "word_count", "words", "words_content"})
"""Tables of the side file."""
_TYPES = {"INTEGER": "BIGINT", "TEXT": "TEXT", "BLOB": "BYTEA", "REAL": "DOUBLE PRECISION"}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is)
_PLACEHOLDER = re.compile(r"%\((?:p_)?(\w+)\)s")
_SQLITE_PLACEHOLDER = re.compile(r"'[^']*'|:(\w+)")


class Tables:
    """The columns of the stored format, with their types, and whether they may be NULL."""

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, tuple[str, bool]]] = {}
        with closing(open_untrusted(":memory:")) as database:
            schema.create(database)
            names = [row[0] for row in database.execute("SELECT name FROM pragma_table_list")]
            for name in names:
                rows = [*database.execute(f"SELECT * FROM pragma_table_info('{name}')")]
                self.columns[name] = {
                    row[1]: (_TYPES.get(row[2], "TEXT"), not (row[3] or row[5])) for row in rows
                }

    def type_of(self, table: str, column: str) -> str | None:
        """Return the type of a column, if the table has it."""
        entry = self.columns.get(table, {}).get(column)
        return entry[0] if entry else None


class Query:
    """One query on its way from SQLite to PostgreSQL."""

    def __init__(self, name: str, text: str, tables: Tables, policies: frozenset[str]) -> None:
        self.name = name
        self.text = text
        self._tables = tables
        self._policies = policies
        self._tree = sqlglot.parse_one(_prefix_parameters(text), read="sqlite")
        self._ctes = {cte.alias for cte in self._tree.find_all(exp.CTE)}
        self._ordered: list[exp.Join] = []
        """The joins that SQLite's text has in their order."""

    def derive(self) -> str:
        """Return the text for PostgreSQL."""
        for change in (
            self._type_lists,
            self._join_plainly,
            self._find_by_digest,
            self._restrict_to_store,
            self._qualify_conflicts,
            self._cast,
            self._order_nulls,
            self._bound,
            self._check_tables,
            self._look_up,
        ):
            change()
        text = self._tree.sql("postgres")
        text = _PLACEHOLDER.sub(r":\1", text)
        own, derived = _parameters(self.text), _parameters(text)
        if own != [name for name in derived if name != "store_id"]:
            raise SystemExit(f"{self.name}: the parameters are in another order: {own} {derived}")
        return text

    def within_budget(self) -> str:
        """Return the text that ends with the row whose last column exhausts `:budget` bytes."""
        columns = [f"column_{number}" for number in range(1, len(self._tree.expressions) + 1)]
        text = self.derive()
        return (
            f"SELECT {', '.join(f'page.{column}' for column in columns)} FROM (SELECT own.*, "
            f"COALESCE(SUM(LENGTH(own.{columns[-1]})) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
            f"PRECEDING), 0) AS size_before FROM ({text}) AS own ({', '.join(columns)})) AS page "
            "WHERE page.size_before < CAST(:budget AS BIGINT)"
        )

    # Lists.

    def _type_lists(self) -> None:
        """Replace each list by rows with a typed column for each element that is read."""
        for table in [*self._tree.find_all(exp.Table)]:
            function = table.this
            if not isinstance(function, exp.Anonymous) or function.name.lower() != "json_each":
                continue
            alias = table.alias or "item"
            select = table.find_ancestor(exp.Select)
            assert select is not None
            types = self._element_types(function.expressions[0].name)
            for column in [*select.find_all(exp.Column)]:
                if column.name != "value" or column.table not in (alias, ""):
                    continue
                if column.table == "" and column.find_ancestor(exp.Select) is not select:
                    continue
                position = _subscript(column)
                if position is not None:
                    assert column.parent is not None
                    column.parent.replace(exp.column(f"element_{position}", table=alias))
                else:
                    column.set("table", exp.to_identifier(alias))
            is_typed = any(
                column.name == "type" and column.table == alias
                for column in select.find_all(exp.Column)
            )
            table.replace(_rows_of_list(function.expressions[0], alias, types, is_typed=is_typed))

    def _element_types(self, parameter: str) -> dict[int | None, str]:
        """Return the type of each element of a list that any part of the query reads."""
        kinds: dict[int | None, set[str | None]] = {}
        for select in self._tree.find_all(exp.Select):
            aliases = {
                table.alias or "item"
                for table in _tables_of(select)
                if isinstance(table.this, exp.Anonymous)
                and table.this.expressions[0].name == parameter
            }
            if not aliases:
                continue
            for column in select.find_all(exp.Column):
                if column.name != "value" or column.table not in (*aliases, ""):
                    continue
                if column.table == "" and column.find_ancestor(exp.Select) is not select:
                    continue
                position = _subscript(column)
                element: exp.Expr = column if position is None else column.parent  # type: ignore[assignment]
                kind = self._compared_type(element)
                kinds.setdefault(position, set()).add(kind)
        return {
            position: "TEXT" if "TEXT" in own or own == {None} else (own - {None}).pop() or "TEXT"
            for position, own in kinds.items()
        }

    def _compared_type(self, element: exp.Expr) -> str | None:
        """Return the type of the column that an element is compared with."""
        parent = element.parent
        if isinstance(parent, exp.Cast) and parent.to.this == exp.DataType.Type.INT:
            return "BIGINT"
        while isinstance(parent, (exp.Paren, exp.Coalesce)):
            if isinstance(parent, exp.Coalesce):
                for sibling in parent.find_all(exp.Column):
                    if kind := self._column_type(sibling):
                        return kind
            element, parent = parent, parent.parent
        if isinstance(parent, exp.Tuple) and isinstance(parent.parent, _COMPARISONS):
            comparison = parent.parent
            other = comparison.right if comparison.left is parent else comparison.left
            if isinstance(other, exp.Tuple):
                return self._column_type(other.expressions[parent.expressions.index(element)])
        if isinstance(parent, _COMPARISONS):
            return self._column_type(parent.right if parent.left is element else parent.left)
        if isinstance(parent, exp.Select) and isinstance(parent.parent, (exp.Subquery, exp.In)):
            containing = parent.find_ancestor(exp.In)
            return self._column_type(containing.this) if containing is not None else None
        return None

    def _column_type(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Column):
            return None
        scope = node.find_ancestor(exp.Select)
        while scope is not None:
            for table in _tables_of(scope):
                if node.table in (table.alias_or_name, "") and (
                    kind := self._tables.type_of(table.name, node.name)
                ):
                    return kind
            scope = scope.find_ancestor(exp.Select)
        return None

    # Tables.

    def _join_plainly(self) -> None:
        """Note which joins SQLite has in their order; drop what tells it an index."""
        for join in self._tree.find_all(exp.Join):
            if join.args.get("kind") == "CROSS" and join.args.get("on") is not None:
                join.set("kind", None)
                self._ordered.append(join)
        for table in self._tree.find_all(exp.Table):
            table.set("indexed", None)

    def _find_by_digest(self) -> None:
        """Compare the digests of titles, too: a title can be too long for an index."""
        for equality in [*self._tree.find_all(exp.EQ)]:
            column, other = equality.this, equality.expression
            if isinstance(equality.parent, exp.Update) or not isinstance(column, exp.Column):
                continue
            if column.name == "title" and self._is_of(column, "memory_title"):
                digests = exp.EQ(
                    this=exp.func("MD5", column.copy()),
                    expression=exp.func("MD5", exp.cast(other.copy(), "TEXT")),
                )
                equality.replace(exp.paren(exp.and_(equality.copy(), digests)))

    def _is_of(self, column: exp.Column, name: str) -> bool:
        """Say whether a column is one of a table."""
        scope = column.find_ancestor(exp.Select, exp.Update, exp.Delete)
        tables = (
            _tables_of(scope) if isinstance(scope, exp.Select) else [scope.this] if scope else []
        )
        return any(
            table.name == name and column.table in ("", table.alias_or_name) for table in tables
        )

    def _restrict_to_store(self) -> None:
        for table in [*self._tree.find_all(exp.Table)]:
            self._restrict(table)
        if not isinstance(self._tree, exp.Insert):
            return
        columns, source = self._tree.this, self._tree.expression
        assert isinstance(columns, exp.Schema), f"{self.name} names no columns"
        table = columns.this.name
        names = {column.name for column in columns.expressions}
        gives_id = "id" in self._tables.columns[table] and "id" not in names
        own = [exp.to_identifier("store_id"), *[exp.to_identifier("id")] * gives_id]
        columns.set("expressions", [*own, *columns.expressions])
        rows = source.expressions if isinstance(source, exp.Values) else _united(source)
        for row in rows:
            values = [_store_id(), *[_next_id(table)] * gives_id]
            row.set("expressions", [*values, *row.expressions])
        conflict = self._tree.args.get("conflict")
        if conflict is not None and conflict.args.get("conflict_keys"):
            keys = [exp.column(key.name) for key in conflict.args["conflict_keys"]]
            conflict.set("conflict_keys", [exp.column("store_id"), *keys])

    def _restrict(self, table: exp.Table) -> None:
        """Let a table of the database have the rows of one store only."""
        if not self._is_stored(table):
            return
        table.set("db", exp.to_identifier(SCHEMA))
        parent = table.parent
        condition = exp.EQ(
            this=exp.column("store_id", table=table.alias_or_name), expression=_store_id()
        )
        if isinstance(parent, exp.Join):
            on = parent.args.get("on")
            if on is None and parent.args.get("kind") == "CROSS":
                parent.set("kind", None)
            parent.set("on", condition if on is None else exp.and_(on, condition, copy=False))
        elif isinstance(parent, exp.From):
            select = parent.parent
            assert isinstance(select, exp.Select)
            select.where(condition, copy=False)
        elif isinstance(parent, (exp.Update, exp.Delete)):
            where = parent.args.get("where")
            both = condition if where is None else exp.and_(where.this, condition, copy=False)
            parent.set("where", exp.Where(this=both))
        elif not isinstance(parent, (exp.Insert, exp.Schema)):
            raise SystemExit(f"{self.name}: {table.sql()} stands in {type(parent).__name__}")

    def _is_stored(self, table: exp.Table) -> bool:
        """Say whether rows of the database are read, and not those of an expression or a policy."""
        if isinstance(table.this, exp.Func):
            return False
        if not table.db and table.name in self._ctes and not self._hides(table):
            return False
        if not table.db and table.name in self._policies:
            return False
        if table.db not in ("", "main") or table.name not in self._tables.columns:
            raise SystemExit(f"{self.name}: there is no table {table.sql()}")
        if table.name in INDEX_TABLES:
            raise SystemExit(f"{self.name}: {table.name} is in the side file")
        return True

    def _hides(self, table: exp.Table) -> bool:
        """Say whether a table stands inside the expression with its name, and is meant itself."""
        cte = table.find_ancestor(exp.CTE)
        return cte is not None and cte.alias == table.name and not _is_recursive(cte)

    def _qualify_conflicts(self) -> None:
        """Name the table of a column that an upsert reads: the proposed row has it, too."""
        conflict = self._tree.args.get("conflict")
        for assignment in conflict.expressions if conflict is not None else ():
            for column in assignment.expression.find_all(exp.Column):
                if not column.table:
                    column.set("table", exp.to_identifier(self._tree.this.this.name))

    def _check_tables(self) -> None:
        """Raise unless every table of the database was restricted to the store."""
        for table in self._tree.find_all(exp.Table):
            if isinstance(table.this, exp.Func) or table.db == SCHEMA:
                continue
            if table.name not in self._ctes | self._policies:
                raise SystemExit(f"{self.name}: {table.sql()} is not restricted to a store")

    def _look_up(self) -> None:
        """Fence the tables that are joined to a list, and those that SQLite joins in their order.

        A planner that knows little of a store takes all its tables for small, and may join all rows
        of one with all of another. So each is looked up for each row before it.
        """
        for select in reversed([*self._tree.find_all(exp.Select)]):  # inner ones first: they move
            origin = select.args.get("from_")
            is_behind_list = origin is not None and isinstance(origin.this, exp.Subquery)
            for join in select.args.get("joins") or ():
                is_behind_list |= isinstance(join.this, exp.Subquery)
                is_table = isinstance(join.this, exp.Table) and join.this.db == SCHEMA
                is_ordered = any(join is ordered for ordered in self._ordered)
                if is_table and (is_behind_list or is_ordered):
                    _fence(select, join)

    # Types, order and limits.

    def _cast(self) -> None:
        """Give integers 64 bits, and a type to parameters that are compared with NULL alone."""
        for cast in self._tree.find_all(exp.Cast):
            if cast.to.this == exp.DataType.Type.INT:
                cast.set("to", exp.DataType.build("BIGINT"))
        types = self._parameter_types()
        for total in [*self._tree.find_all(exp.Sum)]:  # otherwise it is a decimal number
            total.replace(exp.cast(total.copy(), "BIGINT"))
        for test in [*self._tree.find_all(exp.Is)]:
            if isinstance(test.this, exp.Placeholder):
                test.set("this", exp.cast(test.this, types.get(test.this.name, "TEXT")))

    def _parameter_types(self) -> dict[str, str]:
        """Return the types of parameters that are compared with columns."""
        types = {}
        for comparison in self._tree.find_all(*_COMPARISONS):
            for own, other in (
                (comparison.left, comparison.right),
                (comparison.right, comparison.left),
            ):
                kind = self._column_type(other)
                if isinstance(own, exp.Placeholder) and kind:
                    types[own.name] = kind
        return types

    def _order_nulls(self) -> None:
        """Leave the order of NULL out where there is none: an index has no other order."""
        for ordered in self._tree.find_all(exp.Ordered):
            if self._is_certain(ordered.this):
                ordered.set("nulls_first", bool(ordered.args.get("desc")))

    def _is_certain(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Literal):
            return True
        if not isinstance(node, exp.Column):
            return False
        if node.name in ("key", "id") or node.name.startswith("element_"):
            return True
        select = node.find_ancestor(exp.Select)
        for table in _tables_of(select) if select is not None else ():
            if node.table in (table.alias_or_name, ""):
                entry = self._tables.columns.get(table.name, {}).get(node.name)
                if entry is not None:
                    is_outer = isinstance(table.parent, exp.Join) and table.parent.side == "LEFT"
                    return not entry[1] and not is_outer
        return False

    def _bound(self) -> None:
        for limit in self._tree.find_all(exp.Limit):
            if isinstance(limit.expression, exp.Placeholder):
                limit.set(
                    "expression",
                    exp.func(
                        "NULLIF", exp.cast(limit.expression, "BIGINT"), exp.Literal.number(-1)
                    ),
                )


def _store_id() -> exp.Placeholder:
    return exp.Placeholder(this="store_id")


def _next_id(table: str) -> exp.Expr:
    """Return the next id of a table; whoever adds to it holds the lock of the store."""
    return sqlglot.parse_one(
        f"(SELECT COALESCE(MAX(own.id), 0) + 1 FROM {SCHEMA}.{table} AS own "
        "WHERE own.store_id = %(store_id)s)",
        read="postgres",
    )


def _is_recursive(cte: exp.CTE) -> bool:
    with_ = cte.parent
    return isinstance(with_, exp.With) and bool(with_.recursive)


def _united(source: exp.Expr) -> Iterator[exp.Select]:
    if isinstance(source, exp.Union):
        yield from _united(source.left)
        yield from _united(source.right)
    else:
        assert isinstance(source, exp.Select)
        yield source


def _tables_of(select: exp.Select) -> Iterator[exp.Table]:
    origin = select.args.get("from_")
    if origin is not None and isinstance(origin.this, exp.Table):
        yield origin.this
    for join in select.args.get("joins") or ():
        if isinstance(join.this, exp.Table):
            yield join.this


def _subscript(column: exp.Column) -> int | None:
    """Return the position that `column ->> position` reads; None: it is read as a whole."""
    parent = column.parent
    if not isinstance(parent, exp.JSONExtractScalar) or parent.this is not column:
        return None
    (_, subscript) = parent.expression.expressions
    return int(subscript.this)


def _fence(select: exp.Select, join: exp.Join) -> None:
    """Join a table by a subquery, which OFFSET 0 lets run for each row before it."""
    table = join.this
    name = exp.to_identifier(table.alias_or_name)
    conditions = [join.args["on"].copy()]
    if join.side != "LEFT":
        conditions += _take_constant_conditions(select, name.name)
    rows = exp.select(exp.column(exp.Star(), table=name.copy())).from_(table.copy())
    rows = rows.where(*conditions).offset(0)
    join.set("this", exp.Lateral(this=rows.subquery(), alias=exp.TableAlias(this=name)))
    join.set("on", exp.true())


def _take_constant_conditions(select: exp.Select, table: str) -> list[exp.Expr]:
    """Take what compares a table with constants from WHERE: a partial index may need it."""
    where = select.args.get("where")
    if where is None:
        return []
    parts = [*where.this.flatten()] if isinstance(where.this, exp.And) else [where.this]
    own = [
        part
        for part in parts
        if {column.table for column in part.find_all(exp.Column)} == {table}
        and part.find(exp.Placeholder, exp.Query) is None
    ]
    others = [part for part in parts if part not in own]
    select.set("where", exp.Where(this=exp.and_(*others)) if others else None)
    return own


def _rows_of_list(
    parameter: exp.Expr, alias: str, types: Mapping[int | None, str], *, is_typed: bool
) -> exp.Expr:
    """Return the subquery that reads a list as rows: its elements, and their places from 0."""
    columns = [
        f"CAST(list.element #>> '{{}}' AS {kind}) AS value"
        if position is None
        else f"CAST(list.element ->> {position} AS {kind}) AS element_{position}"
        for position, kind in sorted(
            types.items(), key=lambda item: -1 if item[0] is None else item[0]
        )
    ]
    if is_typed:
        columns.append(
            "CASE JSONB_TYPEOF(list.element) WHEN 'number' THEN 'integer' ELSE 'text' END AS type"
        )
    text = (
        f"SELECT list.place - 1 AS key{''.join(', ' + column for column in columns)} FROM "
        f"JSONB_ARRAY_ELEMENTS(CAST(%({parameter.name})s AS JSONB)) WITH ORDINALITY "
        "AS list (element, place)"
    )
    rows = sqlglot.parse_one(text, read="postgres")
    assert isinstance(rows, exp.Select), "it is one query"
    return rows.subquery(alias)


def _prefix_parameters(text: str) -> str:
    """Return a query whose parameters have names that are no keywords."""
    return _SQLITE_PLACEHOLDER.sub(lambda match: f":p_{match[1]}" if match[1] else match[0], text)


def _parameters(text: str) -> list[str]:
    """Return the parameters in the order in which they first stand in a text."""
    return [*dict.fromkeys(name for name in _SQLITE_PLACEHOLDER.findall(text) if name)]


def main() -> int:
    """Write the derived queries, or with `--check` say whether they are up to date."""
    outdated = [
        path
        for path, text in generate().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    if "--check" in sys.argv:
        for path in outdated:
            print(f"{path.name} is out of date: run {sys.argv[0]}")
        return 1 if outdated else 0
    for path, text in generate().items():
        path.write_text(text, "utf-8")
    return 0


def generate() -> dict[Path, str]:
    """Return the text of each file."""
    return {
        PACKAGE / "generated_queries.sql": _queries(),
        PACKAGE / "generated_policies.sql": _policies(),
        PACKAGE / "generated_covered_queries.sql": _covered(),
    }


def _queries() -> str:
    own = query_loader.parse(query_loader.read_sql("memoranda.storage.postgres", "queries.sql"))
    tables = Tables()
    texts = {
        name: Query(name, text, tables, frozenset()).derive()
        for name, text in load_queries().items()
        if name not in own and name not in SQLITE_ONLY and not _reads_index(text)
    }
    for name in sorted(BUDGETED - own.keys()):
        query = Query(name, load_queries()[name], tables, frozenset())
        texts[f"{name}_within"] = query.within_budget()
    return _render("The queries that all engines share, for PostgreSQL.", texts)


def _policies() -> str:
    return _render("The row policies, for PostgreSQL.", _derive(row_policies.policies()))


def _covered() -> str:
    texts, policies = row_policies.covered_queries(), frozenset(row_policies.policies())
    return _render(
        "The covered queries with a text of their own, for PostgreSQL.", _derive(texts, policies)
    )


def _derive(texts: Mapping[str, str], policies: frozenset[str] = frozenset()) -> dict[str, str]:
    tables = Tables()
    return {
        name: Query(name, text, tables, policies).derive()
        for name, text in texts.items()
        if not _reads_index(text)
    }


def _reads_index(text: str) -> bool:
    return any(
        re.search(rf"(FROM|JOIN|INTO|UPDATE|,) (main\.)?{table}\b", text) for table in INDEX_TABLES
    )


def _render(title: str, texts: Mapping[str, str]) -> str:
    parts = [f"-- {title}\n-- Written by scripts/generate_postgres_queries.py: do not edit it.\n"]
    for name, text in sorted(texts.items()):
        lines = textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)
        parts.append(f"-- name: {name}\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


BUDGETED = frozenset(
    {
        "event_page",
        "event_page_back",
        "event_page_of_all",
        "event_places_of_scope",
        "state_page",
    }
)
"""Queries that are read with a budget of bytes."""
SQLITE_ONLY = frozenset(
    {"any_table", "attach", "begin", "begin_reading", "column_there", "commit", "definitions"}
    | {"detach", "quick_check", "rollback", "schema_rows", "settle", "sql_stand_in"}
    | {"sql_views", "stored_tables", "structure_check", "table_put", "table_rows", "table_copy"}
    | {"table_there", "trial_begin", "trial_end", "trial_undo", "vacuum"}
)
"""Queries that only SQLite's own engine runs."""

if __name__ == "__main__":
    sys.exit(main())
