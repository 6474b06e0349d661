"""Named SQL from files: `-- name: what_it_does` opens a statement, the next name ends it."""

from importlib.resources.abc import Traversable


def read_statements(*folders: Traversable) -> dict[str, str]:
    """All statements of all `.sql` files in some folders, by name."""
    statements: dict[str, str] = {}
    for file in (file for folder in folders for file in sorted(folder.iterdir(), key=lambda entry: entry.name)):
        if file.name.endswith(".sql"):
            for name, sql in _named_blocks(file.read_text(encoding="utf-8")):
                if name in statements:
                    raise ValueError(f"two SQL statements are named {name}")
                statements[name] = sql
    return statements


def _named_blocks(text: str) -> list[tuple[str, str]]:
    _, *blocks = text.split("-- name: ")
    named = []
    for block in blocks:
        name, _, sql = block.partition("\n")
        named.append((name.strip(), sql.strip().removesuffix(";")))
    return named
