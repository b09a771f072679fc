"""Photograph the lab in each of its states, for people to look at.

    python docs/lab_screenshots.py FOLDER

takes one picture a state in light and dark, on a wide and on a narrow screen. It needs Chromium
and the package playwright; set CHROMIUM to the program if it is not on the PATH.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from rosenblatt.lab.server import free_port, serve

SCREENS: dict[str, Any] = {
    "wide": {"width": 1440, "height": 1080},
    "narrow": {"width": 390, "height": 844},
}


def states(page: Page) -> Any:
    """Bring the page into one state after the other, and name each."""
    yield "start"
    for _ in range(3):
        page.get_by_role("button", name="step ▶").click()
        page.wait_for_timeout(150)
    yield "three-steps"
    page.locator(".finish").click()
    page.wait_for_timeout(300)
    yield "separated"
    page.locator(".example").select_option("xor")
    page.wait_for_timeout(300)
    page.locator(".finish").click()
    page.wait_for_timeout(300)
    yield "xor-contradiction"
    page.locator("#setting-lift").select_option("products")
    page.wait_for_timeout(300)
    page.locator(".finish").click()
    page.wait_for_timeout(300)
    yield "xor-lifted"
    page.locator(".example").select_option("movies")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="step ▶").click()
    page.wait_for_timeout(300)
    yield "movies"
    page.locator(".example").select_option("iris")
    page.wait_for_timeout(300)
    page.locator("#setting-bias").uncheck()
    page.wait_for_timeout(300)
    page.locator(".finish").click()
    page.wait_for_timeout(500)
    yield "iris-weight-space"
    page.locator(".file").set_input_files(
        files=[{"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b,label\n1,x,0\n"}]
    )
    page.wait_for_timeout(300)
    yield "bad-upload"
    page.locator(".help").click()
    page.wait_for_timeout(200)
    yield "help"


def main(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    server = serve(port=port, show=False, threaded=True)
    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                for screen, size in SCREENS.items():
                    page = browser.new_page(color_scheme=scheme, viewport=size)
                    photograph(page, port, folder, f"{screen}-{scheme}")
                    page.close()
            browser.close()
    finally:
        server.stop()


def photograph(page: Page, port: int, folder: Path, kind: str) -> None:
    """One picture of each state on one kind of screen."""
    page.goto(f"http://127.0.0.1:{port}/")
    page.locator(".lab-page").wait_for()
    for i, name in enumerate(states(page)):
        target = folder / f"{i}-{name}-{kind}.png"
        page.screenshot(path=target, full_page=True)
        print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
