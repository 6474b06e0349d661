"""Which endpoint a path leads to. Plain paths are looked up; those with parameters are walked, part by part."""

from collections.abc import Iterable, Mapping

from dawr.web.endpoint import Endpoint
from dawr.web.problems import BadRequest

NOTHING: Mapping[str, str] = {}


class Router:
    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._plain: dict[str, dict[str, Endpoint]] = {}
        self._root = Part()
        for endpoint in endpoints:
            path, method = endpoint.route.path, endpoint.route.method
            methods = self._root.methods_at(path) if "{" in path else self._plain.setdefault(path, {})
            methods[method] = endpoint
            if method == "GET":
                methods["HEAD"] = endpoint

    def find(self, path: str, method: str) -> tuple[Endpoint, Mapping[str, str]]:
        methods, params = self.methods(path)
        endpoint = methods.get(method)
        if endpoint is None:
            allowed = ", ".join(sorted(methods))
            raise BadRequest(405, "method-not-allowed", (b"allow", allowed.encode()), allowed=allowed)
        return endpoint, params

    def methods(self, path: str) -> tuple[Mapping[str, Endpoint], Mapping[str, str]]:
        plain = self._plain.get(path)
        if plain is not None:
            return plain, NOTHING
        params: dict[str, str] = {}
        part = self._root.walk(path.split("/"), params)
        if part is None or not part.methods:
            raise BadRequest(404, "no-such-path")
        return part.methods, params


class Part:
    """What may follow after one part of a path."""

    def __init__(self) -> None:
        self.methods: dict[str, Endpoint] = {}
        self.fixed: dict[str, Part] = {}
        self.parameter: tuple[str, Part] | None = None

    def methods_at(self, path: str) -> dict[str, Endpoint]:
        part = self
        for name in path.split("/"):
            part = part.following(name)
        return part.methods

    def walk(self, names: list[str], params: dict[str, str]) -> "Part | None":
        part = self
        for name in names:
            fixed = part.fixed.get(name)
            if fixed is not None:
                part = fixed
            elif part.parameter is not None and name:
                params[part.parameter[0]], part = name, part.parameter[1]
            else:
                return None
        return part

    def following(self, name: str) -> "Part":
        if not name.startswith("{"):
            return self.fixed.setdefault(name, Part())
        if self.parameter is None:
            self.parameter = (name[1:-1], Part())
        return self.parameter[1]
