"""Which statements may be run: one SELECT over our tables, whose parts are all known to read nothing else.

What is not known is refused, so that a newer DuckDB cannot bring a way out. Behind this, the connection that runs
the statement can reach no file but those that it is given.
"""

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import msgspec

from dawr.traffic.archive.child import first_line
from dawr.traffic.archive.columns import TABLES
from dawr.traffic.archive.parquet import duckdb_statements

LONGEST = 100_000
QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
TABLE_FUNCTIONS = {"range", "generate_series", "unnest", "json_each"}
SOURCES = {"BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF"}
REFUSED_FUNCTIONS = re.compile(
    r"(read|parquet|pragma|duckdb|pg|inet|json_(de)?serialize|json_execute|__internal)_.*|.*_scan"
    r"|getenv|getvariable|current_setting|query|query_table|glob|sniff_csv|write_log|sleep_ms|nextval|currval|setval"
    r"|setseed|enable_.*|disable_.*|checkpoint|force_checkpoint|error|stats|vector_type"
)
NAMES_AT = re.compile(r'(?<!["\w])at(?!["\w])', re.IGNORECASE)
PLAIN_NAME = re.compile(r"\w+")


class Refused(Exception):
    """The sentence says which part of the statement may not be."""


def tables_of(connection: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    """What the statement reads of ours. Raises `Refused`, or `duckdb.Error` for what is no SQL."""
    tree = _tree(connection, sql)
    nodes = list(_nodes(tree))
    defined = {_defined(entry["key"]) for node in nodes for entry in node.get("cte_map", {}).get("map", [])}
    defined |= {_defined(node["cte_name"]) for node in nodes if node.get("cte_name")}
    for node in nodes:
        _must_be_known(node)
    named = {_table(node) for node in nodes if node.get("type") == "BASE_TABLE"}
    if unknown := sorted(named - TABLES.keys() - defined):
        raise Refused(f"There is no table {unknown[0]!r} here, only {', '.join(sorted(TABLES))}.")
    return sorted(named & TABLES.keys())


def _tree(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    if len(sql) > LONGEST:
        raise Refused(f"The statement is longer than {LONGEST:,} characters.")
    found = _statements(connection, sql)
    if len(found) != 1:
        raise Refused(f"Exactly one statement can be asked, not {len(found)}.")
    if found[0].type != duckdb.StatementType.SELECT:
        raise Refused(f"Only a SELECT can be asked: {found[0].type.name} is refused.")
    ((text,),) = connection.execute(duckdb_statements()["tree_of_statement"], [sql]).fetchall()
    tree: dict[str, Any] = msgspec.json.decode(text)
    if tree["error"] or len(tree["statements"]) != 1:
        raise Refused("Only a SELECT can be asked.")
    return tree


def _statements(connection: duckdb.DuckDBPyConnection, sql: str) -> list[duckdb.Statement]:
    try:
        return connection.extract_statements(sql)
    except duckdb.ParserException as error:
        if NAMES_AT.search(sql) is None:
            raise
        raise Refused(f'{first_line(error)} (DuckDB knows the column "at" only in quotes, or as e.at)') from error


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Every object in it, from the outside in."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)


def _must_be_known(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in QUERY_NODES:
        raise Refused(f"Only what reads can be asked: {kind.removesuffix('_NODE').replace('_', ' ')} is refused.")
    if "sample" in node and "select_list" not in node and kind not in SOURCES:
        raise Refused(f"{kind} is refused.")
    if kind == "SHOW_REF" and not node.get("query"):
        raise Refused("Only a table can be described.")
    if kind == "TABLE_FUNCTION":
        name = str(node["function"]["function_name"]).lower()
        if name not in TABLE_FUNCTIONS:
            raise Refused(f"The function {name} is refused: only tables of the statistics can be read.")
    elif "function_name" in node and REFUSED_FUNCTIONS.fullmatch(str(node["function_name"]).lower()):
        raise Refused(f"The function {node['function_name']} is refused.")


def _table(node: dict[str, Any]) -> str:
    if node.get("schema_name") or node.get("catalog_name"):
        raise Refused("A table is named without a schema.")
    return str(node["table_name"]).lower()


def _defined(name: str) -> str:
    if PLAIN_NAME.fullmatch(name) is None:
        raise Refused(f"{name!r} cannot be the name of a table.")
    return name.lower()
