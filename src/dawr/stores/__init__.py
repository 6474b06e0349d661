"""Where venues, lines, tickets and events are kept: one SQLite file, or PostgreSQL.

A store locks, loads and saves. No rule lives here. The difference between the two
databases is the difference between two folders of SQL and two short modules.
"""
