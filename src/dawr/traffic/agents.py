"""What asks, by family: never the whole text, which can tell people apart."""

from functools import lru_cache

MOST_REMEMBERED = 1024
LONGEST_READ = 300
OTHER = "other"
FAMILIES: tuple[tuple[str, str], ...] = (
    ("bot", "bot"),
    ("crawler", "bot"),
    ("spider", "bot"),
    ("headlesschrome", "bot"),
    ("edg", "Edge"),
    ("opr/", "Opera"),
    ("opera", "Opera"),
    ("samsungbrowser", "Samsung Internet"),
    ("ucbrowser", "UC Browser"),
    ("micromessenger", "WeChat"),
    ("firefox", "Firefox"),
    ("fxios", "Firefox"),
    ("crios", "Chrome"),
    ("chrome", "Chrome"),
    ("chromium", "Chrome"),
    ("safari", "Safari"),
    ("trident", "Internet Explorer"),
    ("msie", "Internet Explorer"),
    ("curl", "curl"),
    ("wget", "Wget"),
    ("python", "Python"),
    ("httpx", "Python"),
    ("aiohttp", "Python"),
    ("okhttp", "OkHttp"),
    ("go-http-client", "Go"),
    ("java", "Java"),
    ("node", "Node.js"),
    ("axios", "Node.js"),
    ("postman", "Postman"),
    ("prometheus", "Prometheus"),
)
"""The first that is found stands: most browsers also name those they resemble."""


@lru_cache(MOST_REMEMBERED)
def family_of(user_agent: bytes) -> str:
    text = user_agent[:LONGEST_READ].decode("latin-1").lower()
    if not text:
        return "none"
    return next((family for mark, family in FAMILIES if mark in text), OTHER)
