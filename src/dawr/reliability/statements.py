"""Named SQL from files: `-- name: what_it_does` opens a statement, the next name ends it."""

from importlib.resources.abc import Traversable


def read_statements(*folders: Traversable) -> dict[str, str]:
    """All statements of all `.sql` files in some folders, by name."""
    statements: dict[str, str] = {}
    for file in (file for folder in folders for file in sorted(folder.iterdir(), key=lambda entry: entry.name)):
        if file.name.endswith(".sql"):
            for block in file.read_text(encoding="utf-8").split("-- name: ")[1:]:
                name, _, sql = (part.strip() for part in block.partition("\n"))
                if name in statements:
                    raise ValueError(f"two SQL statements are named {name}")
                statements[name] = sql.removesuffix(";")
    return statements
