"""The contracts that other systems know: thin translations to the same operations."""
