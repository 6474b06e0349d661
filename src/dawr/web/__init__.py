"""What talks HTTP. A handler parses, asks for one operation, and renders; no rule lives here."""
