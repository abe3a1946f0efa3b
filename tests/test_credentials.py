"""No credential survives, in an address or in a text about it; the rest of the address stays as it was."""

from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar._credentials import cleaned, safe_cause, stripped

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
words = st.text(LETTERS, min_size=1, max_size=8)
hosts = st.sampled_from(["host", "db.example.org", "10.0.0.7", "[::1]", "my-bucket"])
ports = st.sampled_from(["", ":5000", ":5432"])
paths = st.lists(st.text(LETTERS + "-_.@~ä", min_size=1, max_size=8), max_size=3).map(
    lambda parts: "".join(f"/{p}" for p in parts)
)
# Whatever a password may hold: as it is where that is allowed, else encoded.
passwords = st.text(LETTERS + "!$*'(),.~_-@:/?#[]% &=+ü", max_size=20).map(lambda text: f"S3CRET{text}9")
schemes = st.sampled_from(["http", "https", "mlflow:http", "s3", "ftp", "sftp", "smb", "ray", "git+https"])
databases = st.sampled_from(
    ["postgresql", "postgresql+psycopg2", "mysql+pymysql", "mssql+pyodbc", "redis", "optuna:mysql"]
)
secret_names = st.sampled_from(
    [
        "token",
        "api_key",
        "apikey",
        "ACCESS_TOKEN",
        "password",
        "key",
        "sig",
        "X-Amz-Signature",
        "AWSAccessKeyId",
        "AccountKey",
    ]
)
plain_names = st.sampled_from(["sslmode", "run_id", "charset", "experiment", "max_tokens", "page"])
users = st.one_of(words, st.just(""))


@st.composite
def web_addresses(draw) -> tuple[str, str, list[str]]:
    """An address with credentials, the same without, and what must not be seen."""
    password, token = draw(passwords), draw(passwords)
    who = draw(st.sampled_from([f"{draw(users)}:{quote(password, safe='@')}@", f"{quote(password, safe='')}@", ""]))
    return _address(draw, draw(schemes), who, [password] if who else [], token)


@st.composite
def database_addresses(draw) -> tuple[str, str, list[str]]:
    """The same of databases, whose passwords need no encoding."""
    password, token = draw(passwords.filter(lambda text: "?" not in text)), draw(passwords)
    return _address(
        draw, draw(databases), f"{draw(users)}:{password}@", [password], token, paths=words.map(lambda w: f"/{w}")
    )


def _address(draw, scheme, who, secrets, token, paths=paths) -> tuple[str, str, list[str]]:
    host, path = draw(hosts) + draw(ports), draw(paths)
    plain = draw(st.lists(st.tuples(plain_names, words), max_size=2).map(lambda pairs: [f"{k}={v}" for k, v in pairs]))
    query = list(plain)
    if draw(st.booleans()) or not who:
        query.insert(draw(st.integers(0, len(query))), f"{draw(secret_names)}={quote(token, safe='')}")
        secrets = [*secrets, token]
    whole = f"{scheme}://{who}{host}{path}{'?' if query else ''}{'&'.join(query)}"
    return whole, f"{scheme}://{host}{path}{'?' if plain else ''}{'&'.join(plain)}", secrets


@settings(max_examples=120, deadline=None)
@given(st.one_of(web_addresses(), database_addresses()))
def test_no_secret_survives_and_the_rest_of_the_address_stays(made):
    address, public, secrets = made
    assert stripped(address) == public
    assert stripped(public) == public
    for text in (f"cannot reach {address!r}: refused", f"{address}", f"No connection to ({address})"):
        said = cleaned(text, address)
        assert not any(form in said for secret in secrets for form in (secret, quote(secret, safe="")))


@settings(max_examples=80, deadline=None)
@given(web_addresses())
def test_no_secret_survives_in_a_text_about_an_address_nobody_told_us(made):
    address, _, secrets = made
    for text in (f"cannot reach {address}: refused", f"<a href={address}>", f'{{"store": "{address}"}}'):
        said = cleaned(text)
        assert not any(form in said for secret in secrets for form in (secret, quote(secret, safe="")))


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:5000/#/experiments/3/runs/0af",
        "sqlite:////home/me@work/mlflow.db",
        "file:///data/a@b/runs",
        "abfs://container@account.dfs.core.windows.net/runs",
        "s3://bucket/runs/a@b?versionId=3",
        "http://host:5000/users/me@example.org",
        "mail me@example.org, see http://host/help",
        "lr=3e-4, max_tokens=512, seed=0: is the key right? a=b",
        "C:\\runs\\mine",
        "C:/runs/a@b/mine",
        "tensorboard:/home/me@work/runs",
        "see:/a/b:c@d",
    ],
)
def test_what_holds_no_credential_stays_to_the_letter(text):
    assert stripped(text) == cleaned(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Max retries exceeded with url: /api/2.0/x?a=1&token=s3cr3t (Caused by",
            "Max retries exceeded with url: /api/2.0/x?a=1 (Caused by",
        ),
        ("connect(host=h, password='s3 cr3t', port=5)", "connect(host=h, password=***, port=5)"),
        ("http://a/b,https://u:s3cr3t@c/d", "http://a/b,https://c/d"),
        ("no file https:/u:s3cr3t@c/d.csv, s3:/s3cr3t@c", "no file https:/c/d.csv, s3:/c"),
        ("[Errno 2] No such file: 'https:/u:s3cr3t/x@c/d'", "[Errno 2] No such file: 'https:/c/d'"),
        ("mlflow:http:/u:s3cr3t@c:5000/d", "mlflow:http:/c:5000/d"),
        ("Failed to parse: http://u:s3/cr3t@host/x", "Failed to parse: http://host/x"),
        ("DefaultEndpointsProtocol=https;AccountKey=s3cr3t==;", "DefaultEndpointsProtocol=https;AccountKey=***;"),
    ],
)
def test_what_libraries_say(text, said):
    assert cleaned(text) == said


def test_a_secret_is_found_in_a_sentence_that_names_no_address():
    address = "postgresql://me:hunter%402@db/mlflow"
    assert cleaned("login failed: hunter@2, hunter%402", address) == "login failed: ***, ***"


def test_an_error_that_tells_a_secret_is_no_cause_of_ours():
    address = "https://me:hunter22@host"
    assert safe_cause(ValueError(f"bad: {address}"), address) is None
    outer = ValueError("bad")
    outer.__context__ = KeyError("hunter22")
    assert safe_cause(outer, address) is None
    fine = ValueError("bad host")
    assert safe_cause(fine, address) is fine
