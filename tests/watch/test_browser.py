"""The page in a real browser: it streams, forecasts what is drawn by hand, commands with the token and not without."""

import json
import shutil

import pytest
from tests.report.chromium import Browser, needs_chromium
from tests.responding import responding_forecaster
from tests.watch.serving import TOKEN, a_job, serving, train

from lodestar.scheduler import Outcome

pytestmark = needs_chromium
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def forecaster(tmp_path_factory):
    path = tmp_path_factory.mktemp("forecaster") / "f.lodestar"
    responding_forecaster().save(path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture
def job(tmp_path, forecaster):
    made = a_job(tmp_path, forecaster)
    train(made, 1, 81)
    return made


@pytest.fixture
def page(browser, job, tmp_path):
    """The page of a folder with one job at step 80, opened with the token."""
    with serving(tmp_path) as address:
        browser.open(f"{address}/#token={TOKEN}")
        browser.wait("document.querySelectorAll('#charts figure[data-drawn]').length >= 3")
        yield browser
        assert browser.problems == []
        browser.open("about:blank")


def text(browser: Browser, selector: str) -> str:
    return browser.js(f"document.querySelector({json.dumps(selector)}).innerText")


def slide(browser: Browser, place: int, value: int) -> None:
    browser.js(
        f"(() => {{const i = document.querySelectorAll('#sliders input')[{place}]; i.value = {value};"
        "i.dispatchEvent(new Event('input'))})()"
    )


def test_new_points_and_decisions_arrive_without_a_reload(page, job):
    page.js("window.mark = 1")
    page.wait("document.querySelector('#lead').innerText.includes('step 80 of 200')")
    before = page.js("document.querySelectorAll('#decisions tbody tr').length")
    train(job, 82, 141)
    page.wait("document.querySelector('#lead').innerText.includes('140 of 200')")
    page.wait(f"document.querySelectorAll('#decisions tbody tr').length > {before}")
    assert page.js("window.mark") == 1


def test_dragging_the_rate_changes_the_forecast(page):
    plot = "#charts figure:nth-of-type(3) .plot"
    page.wait("!document.querySelector('#tools').hidden && document.querySelectorAll('#sliders input').length > 3")
    x, y = page.middle(plot)
    wide = page.js(f"document.querySelector('{plot}').clientWidth")
    page.drag((x + 0.2 * wide, y), (x + 0.2 * wide, y - 60))
    page.wait("document.querySelector('#verdict').innerText.includes('forecast to end at')")
    assert "the plan at" in text(page, "#verdict")
    assert page.js("[...document.querySelectorAll('#charts .legend button')].some((b) => b.innerText === 'by hand')")
    higher = text(page, "#verdict")
    slide(page, 4, 10)
    page.wait(f"document.querySelector('#verdict').innerText !== {json.dumps(higher)}")


def test_a_family_and_a_rate_are_drawn_and_forecast(page):
    page.wait("document.querySelectorAll('#family option').length > 3")
    page.js("document.querySelector('#family').value = 'cosine'; document.querySelector('#rate').value = '0.002'")
    page.click("#draw")
    page.wait("document.querySelector('#verdict').innerText.includes('forecast to end at')")
    page.click("#reset")
    page.wait("document.querySelector('#verdict').innerText === ''")


def test_pause_goes_to_the_job_and_comes_back_as_a_decision(page, job):
    page.js("document.querySelector('#who').value = 'Ada'")
    page.click("[data-do=pause]")
    page.wait("document.querySelector('#said').innerText === 'Sent: pause.'")
    page.wait("document.querySelector('#wheelhint').innerText.includes('Waiting for the job')")
    train(job, 82, 101)
    page.wait("document.querySelector('#decisions').innerText.includes('By Ada (page)')")
    page.wait("document.querySelector('#lead').innerText.includes('paused')")
    assert any(d.outcome is Outcome.PAUSED and d.command and d.command.by == "Ada (page)" for d in job.decisions)


def test_a_schedule_drawn_by_hand_is_taken(page, job):
    page.wait("document.querySelectorAll('#sliders input').length > 3")
    slide(page, 2, 900)
    page.wait("!document.querySelector('[data-do=take]').disabled")
    drawn = page.js("document.querySelectorAll('#sliders b')[2].innerText")
    page.click("[data-do=take]")
    page.wait("document.querySelector('#said').innerText.startsWith('Sent: take')")
    train(job, 82, 95)
    taken = next(d for d in job.decisions if d.outcome is Outcome.TAKEN)
    assert taken.command is not None
    step, rate = taken.command.value[2]  # pyright: ignore[reportIndexIssue, reportOptionalSubscript, reportGeneralTypeIssues]
    assert rate == pytest.approx(float(drawn), rel=1e-3)
    assert job.plan().lr_at(round(step)) == pytest.approx(rate, rel=0.2)


def test_without_the_token_the_page_only_looks(browser, job, tmp_path):
    with serving(tmp_path) as address:
        browser.open(f"{address}/")
        browser.js("sessionStorage.clear()")
        browser.open(f"{address}/")
        browser.wait("document.querySelector('#wheelhint').innerText.includes('only looks')")
        assert browser.js("document.querySelector('#buttons').hidden")
        browser.open("about:blank")


def test_a_wrong_token_is_refused_with_a_sentence(browser, job, tmp_path):
    with serving(tmp_path) as address:
        browser.open(f"{address}/#token=wrong")
        browser.wait("!document.querySelector('#buttons').hidden && !document.querySelector('#job').hidden")
        browser.click("[data-do=pause]")
        browser.wait("document.querySelector('#said').innerText.includes('no command without the token')")
        browser.open("about:blank")
    assert not (tmp_path / "run.control.json").exists()


def test_hostile_names_are_text_and_the_policy_is_strict(browser, forecaster, tmp_path):
    job = a_job(tmp_path, forecaster, facts={EVIL: EVIL}, run_name=EVIL)
    job.warn("evil", EVIL)
    train(job, 1, 40)
    with serving(tmp_path) as address:
        browser.open(address)
        browser.wait("!document.querySelector('#job').hidden")
        assert EVIL in text(browser, "#jobs")
        assert EVIL in text(browser, "#warnings")
        assert browser.js("document.querySelectorAll('main img, main script').length") == 0
        assert browser.problems == []
        blocked = (
            "new Promise((done) => {document.addEventListener('securitypolicyviolation', "
            "(e) => done(e.effectiveDirective), {once: true});"
        )
        inline = (
            "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)})"
        )
        assert browser.js(blocked + inline) == "script-src-elem"
        assert browser.js("window.hacked") is None
        style = (
            "const s = document.createElement('style'); s.textContent = 'body{color:red}'; document.body.append(s)})"
        )
        assert browser.js(blocked + style) == "style-src-elem"
        browser.open("about:blank")


def test_a_killed_server_is_noticed_and_found_again(browser, job, tmp_path, monkeypatch):
    with serving(tmp_path) as address:
        browser.open(address)
        browser.wait("document.querySelector('#link').innerText === 'live'")
    train(job, 82, 100)  # the job does not notice
    browser.wait("document.querySelector('#link').innerText.includes('does not answer')")
    browser.open("about:blank")
    assert job.warnings == []


def test_it_fits_a_phone_turns_dark_and_every_control_has_a_name(browser, job, tmp_path):
    with serving(tmp_path) as address:
        browser.open(f"{address}/#token={TOKEN}", width=390, height=800, phone=True, dark=True)
        browser.wait("document.querySelectorAll('#charts figure[data-drawn]').length >= 1")
        assert browser.js("document.documentElement.scrollWidth <= window.innerWidth + 1")
        assert browser.js("document.documentElement.dataset.theme") == "dark"
        nameless = (
            "[...document.querySelectorAll('button, input, select')].filter((e) => !(e.innerText.trim() ||"
            " e.getAttribute('aria-label') || e.closest('label')?.innerText.trim())).length"
        )
        assert browser.js(nameless) == 0
        assert browser.js("[...document.querySelectorAll('.plot')].every((e) => e.getAttribute('aria-label'))")
        browser.open("about:blank")


def test_a_job_that_is_over_takes_no_command_and_says_how_it_went(browser, job, tmp_path):
    train(job, 82, 200)
    shutil.copy(tmp_path / "run.jsonl", tmp_path / "older.jsonl")  # no points beside it
    with serving(tmp_path) as address:
        browser.open(f"{address}/#token={TOKEN}")
        browser.wait("document.querySelectorAll('#jobs tbody tr').length === 2")
        browser.wait("document.querySelector('#wheelhint').innerText === 'The run is over.'")
        assert "planned updates made" in text(browser, "#lead")
        browser.open("about:blank")
