"""What `dawr demo` shows: venues, their staff, and a day that is played in them."""
