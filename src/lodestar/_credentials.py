"""Credentials out of addresses and out of what libraries say: the one place that knows where they stand.

Comes in: an address somebody gave us (`https://user:token@host/path`, `postgresql://u:p@host/db`, `...?api_key=...`),
or a text that may hold one. Goes out: the same without user, password and secret parameters. Host, path and all else
stay, so that an import can be run again with the credentials of the day. Whatever is stored, printed, logged or raised
passes through here; where it is not certain what is a secret, it counts as one.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

HIDDEN = "***"
_DATABASES = {
    *("postgres", "postgresql", "mysql", "mariadb", "oracle", "mssql", "cockroachdb", "redis", "rediss", "mongodb"),
    *("snowflake", "redshift", "clickhouse"),
}
_NO_USER = {"abfs", "abfss", "az", "wasb", "wasbs", "github", "git"}  # a container or a repository stands before the @
_NAME = (
    r"[\w.\-]*(?:token|secret|passw(?:or)?d|passphrase|pwd|credentials?|signature|authorization|odbc_connect|sas|"
    r"(?:api|access|account|private|secret|shared|ssl)[_\-]?key(?:[_\-]?id)?)"
)
_SECRET = re.compile(rf"{_NAME}|key|sig|auth|pass|pw", re.IGNORECASE)
_SCHEME = re.compile(
    r"([A-Za-z][A-Za-z0-9+.\-]*)://"
    r"|(?<![\w+.\-])([A-Za-z][A-Za-z0-9+.\-]+):/(?=[^/?#@\s\"<>]*@|[^:/?#@\s\"<>]*:[^@\s\"<>]+@)"
)
"""An address, and one that was made a path on its way, and so lost a slash: known by the user it names."""
_WORD = re.compile(r'[^\s"<>]*')
_QUERY = re.compile(r"""(?:\?[^#\s"<>]*|\#[^\s"<>]*)""")
_QUERY_ALONE = re.compile(r"(?s)\?[^#]*|#.*")
_LOOSE = re.compile(rf"(?<![\w?&])({_NAME})=('[^']*'|\"[^\"]*\"|[^\s;&,)]+)", re.IGNORECASE)
_LEAST = 4  # letters: a shorter secret is not looked for in other people's sentences


def stripped(address: str) -> str:
    """An address without its credentials."""
    found = _SCHEME.search(address)
    if found:
        rest = address[found.end() :]
        rest = _QUERY_ALONE.sub(_without_secret_parts, rest[_user_end(found[1] or found[2], rest) :])
        address = address[: found.end()] + rest
    return cleaned(address)


def cleaned(text: object, *addresses: str) -> str:
    """A text without the credentials of the addresses in it; those of `addresses` are found wherever they stand."""
    said = str(text)
    for address in addresses:
        public = stripped(address)
        if public != address:
            said = said.replace(address, public)
            for secret in sorted(set(_secrets(address)), key=len, reverse=True):
                said = said.replace(secret, HIDDEN) if len(secret) >= _LEAST else said
    parts, at = [], 0
    for found in _SCHEME.finditer(said):
        if found.start() >= at:
            rest = _WORD.match(said, found.end())
            parts.append(said[at : found.end()])
            at = found.end() + _user_end(found[1] or found[2], rest[0] if rest else "")
    said = "".join(parts) + said[at:]
    if "=" not in said:
        return said
    return _LOOSE.sub(rf"\1={HIDDEN}", _QUERY.sub(_without_secret_parts, said))


def safe_cause(error: BaseException, *addresses: str) -> BaseException | None:
    """The error to raise ours from: none where its text, or that of one before it, would tell a credential."""
    one: BaseException | None = error
    for _ in range(50):
        if one is None:
            break
        said = f"{one} {one.args!r} {getattr(one, '__notes__', '')}"
        if cleaned(said, *addresses) != said:
            return None
        one = one.__cause__ or one.__context__
    return error


def _user_end(scheme: str, rest: str) -> int:
    """How much of `rest` stands before the host."""
    if scheme.lower() in _NO_USER or "@" not in rest:
        return 0
    user = re.match(r"(?!\[)[^:/?#@]*:(?!\d*(?:[/?#]|$))", rest)  # and not a host with its port
    if scheme.lower().partition("+")[0] in _DATABASES:  # a password may hold anything there
        found = re.match(r"(?s)(?!\[)[^:/@]*:[^?]*@", rest) or (user and re.match(r"(?s).*@", rest))
        if found:
            return found.end()
    if found := re.match(r"[^/?#]*@", rest):
        return found.end()
    return rest.index("@") + 1 if user else 0  # no address at all, with a slash in its password: it is one all the same


def _without_secret_parts(query: re.Match[str]) -> str:
    mark, parts = query[0][0], re.split("[&;]", query[0][1:])
    kept = [part for part in parts if not _is_secret(part)]
    if len(kept) == len(parts):
        return query[0]
    return mark + "&".join(kept) if kept else ""


def _is_secret(part: str) -> bool:
    name, equals, _ = part.partition("=")
    return bool(equals) and _SECRET.fullmatch(unquote(name).strip()) is not None


def _secrets(address: str) -> Iterator[str]:
    """The password, or a user without one; and the values of secret parameters: as written, decoded and encoded."""
    found = _SCHEME.search(address)
    rest = address[found.end() :] if found else address
    who = rest[: _user_end(found[1] or found[2], rest)].removesuffix("@") if found else ""
    user, _, password = who.partition(":")
    values = [part.partition("=")[2] for part in re.split("[?&;#]", rest) if _is_secret(part)]
    for secret in (password or user, *values):
        yield from (secret, unquote(secret), quote(unquote(secret), safe=""))
        yield from re.split("[/?#@:]", secret)  # a library may have seen a part of it as a host or a path
