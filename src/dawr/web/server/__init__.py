"""HTTP itself: connections, requests as they come in, answers as they go out."""
