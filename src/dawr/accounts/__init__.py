"""Who may: signing in, staff, passwords, tokens, and a new venue with its owner."""
