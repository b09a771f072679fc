"""The page for people, in a browser."""

import pytest

from rosenblatt.serve.engine import Engine

from .conftest import caught_up, running, stream
from .test_app import TOKENS, teach


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_the_error_explains_mistakes_and_learns(browser, begun, scheme, width):
    engine = Engine(log=begun(), learns=True)
    with running(engine) as client:
        teach(client, stream(80, ("a", "b", "<img src=x onerror=alert(1)>")))
        caught_up(client, 80)
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page, said, asked = context.new_page(), [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(str(client.base_url))
        page.wait_for_selector("#mistakes .mistake-row .words span")
        assert page.locator("#curve path").count() >= 1
        assert "80 labels" not in page.inner_text("#counts")  # the first had no prediction
        page.fill("#fields textarea", "something new")
        page.click("#try button")
        page.wait_for_selector("#answer .verdict")
        page.fill("#truth", "c")
        page.click("#teach button")
        page.wait_for_selector("#message:not([hidden])")
        assert page.inner_text("#message") == "Label accepted."
        page.click("#ask button")
        page.wait_for_selector("#reply:not([hidden])")
        assert '"version"' in page.inner_text("#reply")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert said == []
        assert all(url.startswith(("data:", str(client.base_url))) for url in asked)
        context.close()


def test_the_page_asks_for_a_token(browser, begun):
    with running(Engine(log=begun(), learns=True), tokens=TOKENS) as client:
        page = browser.new_page()
        page.goto(str(client.base_url))
        page.wait_for_selector("#token:not([hidden])")
        page.fill("#token-text", TOKENS.label)
        page.click("#token button")
        page.wait_for_selector("#token", state="hidden")
        page.wait_for_selector("#fields textarea")
        page.close()
