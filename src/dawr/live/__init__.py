"""The live stream: who watches a venue is told of every change, in order, or gets a fresh picture."""
