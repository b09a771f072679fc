"""A real server for the browser."""

import pytest


@pytest.fixture(scope="session")
def address():
    """Where the lab is served for these tests."""
    pytest.importorskip("panel", reason="panel is not installed")
    from rosenblatt.lab.server import free_port, serve

    port = free_port()
    server = serve(port=port, show=False, threaded=True)
    yield f"http://127.0.0.1:{port}/"
    server.stop()


@pytest.fixture
def open_page(browser, address):
    """Open the lab in a new tab; no tab may log an error or ask another machine for anything."""
    pages, errors, foreign = [], [], []

    def open_page(where="", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda note: errors.append(note.text) if note.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                foreign.append(request.url)
                if not request.url.startswith((address, "blob:", "data:"))
                else None
            ),
        )
        page.goto(address + where)
        page.locator(".lab-page").wait_for()
        pages.append(context)
        return page

    yield open_page
    for context in pages:
        context.close()
    assert errors == []
    assert foreign == []
