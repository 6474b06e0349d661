"""Details that left the database for Parquet files, how long anything is kept, and one SELECT over all of it.

DuckDB writes and reads the files, always in a process of its own: whoever imports this package stays small.
"""
