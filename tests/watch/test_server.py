"""The server by its answers: who is let in, what is streamed, what-if, and commands with the token only."""

import json
import time

import httpx
import pytest
from tests.responding import responding_forecaster
from tests.watch.serving import TOKEN, a_job, serving, train

from lodestar.scheduler.records.command import control_path
from lodestar.testing import random_forecaster
from lodestar.watch.guard import is_loopback, refusal


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    responding_forecaster().save(folder / "f.lodestar")
    job = a_job(folder, folder / "f.lodestar")
    train(job, 1, 81)
    with serving(folder) as address:
        yield folder, address, job


@pytest.fixture
def client(place):
    with httpx.Client(base_url=place[1], timeout=60) as made:
        yield made
    control_path(place[0] / "run.jsonl").unlink(missing_ok=True)


def events(client: httpx.Client, job: str, count: int) -> list[tuple[str, object]]:
    found, name = [], ""
    with client.stream("GET", "/api/stream", params={"job": job}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
            if len(found) == count:
                return found
    return found


@pytest.fixture
def job_id(client) -> str:
    (_, rows) = events(client, "", 1)[0]
    return rows[0]["id"]  # pyright: ignore[reportIndexIssue]


def test_the_page_comes_with_a_strict_policy(client):
    answer = client.get("/")
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "http" not in answer.text.replace("http-equiv", "").split("<script>")[0]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_stream_brings_the_table_and_then_the_job(client, job_id):
    (first, rows), (second, job) = events(client, job_id, 2)
    assert (first, second) == ("table", "job")
    assert rows[0]["name"] == "run"  # pyright: ignore[reportIndexIssue]
    assert job["what_if"] == ""  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue]
    titles = [chart["title"] for chart in job["charts"]]  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue]
    assert titles[:3] == ["accuracy", "training loss", "learning rate"]
    assert {"the plan", "half the rate"} & {a["name"] for a in job["alternatives"]}  # pyright: ignore


def test_what_if_answers_with_the_forecast_of_the_schedule_drawn(client, job_id):
    high, low = (
        client.post("/api/what-if", json={"job": job_id, "knots": [[82, rate], [200, rate]]}).json()
        for rate in (4e-3, 1e-4)
    )
    assert high["final"] != low["final"]
    assert high["lower"] <= high["final"] <= high["upper"]
    assert high["metric"]["x"][-1] == 200
    words = client.post("/api/what-if", json={"job": job_id, "words": "cosine:2e-3"}).json()
    assert words["knots"][-1][0] == 200


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"knots": [[82, 0.0]]}, "above zero"),
        ({"knots": [[82, -1.0]]}, "finite number >= 0"),
        ({"words": "nonsense:3"}, "nonsense"),
        ({"job": "nobody", "knots": [[1, 1]]}, "there is no job"),
    ],
)
def test_a_bad_what_if_is_a_sentence(client, job_id, asked, why):
    answer = client.post("/api/what-if", json={"job": job_id, **asked})
    assert answer.status_code == 409
    assert why in answer.json()["error"]


def test_a_body_that_does_not_say_its_length_is_refused(client):
    pieces = (b"{" for _ in range(3))  # sent in chunks
    answer = client.post("/api/what-if", content=pieces, headers={"content-type": "application/json"})
    assert answer.status_code == 403 and "must say its length" in answer.json()["error"]


def test_a_misshapen_request_is_a_sentence(client):
    answer = client.post("/api/what-if", json={"job": 3})
    assert answer.status_code == 422
    assert "not understood" in answer.json()["error"]
    answer = client.post("/api/what-if", content=b"{" * 200_000, headers={"content-type": "application/json"})
    assert answer.status_code == 403


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x"])
def test_without_the_token_nothing_is_written(client, place, job_id, token):
    headers = {} if token is None else {"x-lodestar-token": token}
    answer = client.post("/api/command", json={"job": job_id, "do": "pause", "by": "Eve"}, headers=headers)
    assert answer.status_code == 403
    assert "no command without the token" in answer.json()["error"]
    assert not control_path(place[0] / "run.jsonl").exists()


def test_with_the_token_a_command_is_sent_and_a_second_refused(client, job_id):
    order, headers = {"job": job_id, "do": "scale", "value": 0.5, "by": "Ada"}, {"x-lodestar-token": TOKEN}
    assert client.post("/api/command", json=order, headers=headers).json()["sent"] == "scale 0.5"
    time.sleep(0.3)
    answer = client.post("/api/command", json=order, headers=headers)
    assert answer.status_code == 409
    assert "a command still waits" in answer.json()["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.example"},
        {"content-type": "text/plain"},
    ],
)
def test_a_request_from_another_site_is_refused_token_or_not(client, place, job_id, headers):
    body = json.dumps({"job": job_id, "do": "stop", "by": "Eve"})
    sent = {"content-type": "application/json", "x-lodestar-token": TOKEN, **headers}
    answer = client.post("/api/command", content=body, headers=sent)
    assert answer.status_code == 403
    assert "Fix:" in answer.json()["error"]
    assert not control_path(place[0] / "run.jsonl").exists()


def test_another_site_cannot_read_the_stream_but_may_link_to_the_page():
    here = {"host": "127.0.0.1:8765"}
    assert refusal("GET", {**here, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, "127.0.0.1")
    assert refusal("GET", {**here, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "127.0.0.1") is None
    assert refusal("GET", {"host": "rebound.example:8765"}, "127.0.0.1")
    assert refusal("GET", {"host": "[::1]:8765"}, "::1") is None
    assert refusal("GET", {"host": "localhost:1"}, "127.0.0.1") is None


def test_loopback_is_known():
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.2", "example.org")))


def test_a_forecaster_that_knows_no_schedules_has_a_fan_and_says_why_there_is_no_what_if(tmp_path):
    random_forecaster(seed=2, points=100).save(tmp_path / "f.lodestar")
    train(a_job(tmp_path, tmp_path / "f.lodestar"), 1, 81)
    with serving(tmp_path) as address, httpx.Client(base_url=address, timeout=60) as client:
        (_, rows) = events(client, "", 1)[0]
        job = events(client, rows[0]["id"], 2)[1][1]  # pyright: ignore[reportIndexIssue]
        assert "cannot forecast known schedules" in job["what_if"]  # pyright: ignore
        names = {series["name"] for series in job["charts"][0]["series"]}  # pyright: ignore
        assert {"forecast", "80 % interval"} <= names


def test_without_the_forecaster_the_plan_is_drawn_as_the_log_has_it(tmp_path):
    train(a_job(tmp_path, random_forecaster(seed=2, points=100)), 1, 81)
    with serving(tmp_path) as address, httpx.Client(base_url=address, timeout=60) as client:
        (_, rows) = events(client, "", 1)[0]
        job = events(client, rows[0]["id"], 2)[1][1]  # pyright: ignore[reportIndexIssue]
        assert "--model" in job["what_if"]  # pyright: ignore
        assert "plan" in {series["name"] for series in job["charts"][2]["series"]}  # pyright: ignore
