"""Photograph the lab in each of its states, for people to look at.

    python docs/lab_screenshots.py FOLDER

takes one picture per state in light and dark, on a wide and on a narrow screen. It needs Chromium
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

    def settled(name: str) -> str:
        page.wait_for_timeout(100)
        page.locator('.lab-page[aria-busy="false"]').wait_for()
        return name

    def end_of(example: str, **settings: str) -> None:
        page.locator(".example").select_option(example)
        settled(example)
        for setting, value in settings.items():
            page.locator(f"#setting-{setting}").select_option(value)
            settled(setting)
        page.locator(".finish").click()

    yield settled("start")
    for _ in range(3):
        page.locator(".step").click()
    yield settled("three-steps")
    page.locator(".finish").click()
    yield settled("separated")
    end_of("xor")
    yield settled("xor-contradiction")
    end_of("xor", lift="products")
    yield settled("xor-lifted")
    page.locator(".example").select_option("movies")
    page.locator(".step").click()
    yield settled("movies")
    end_of("iris")
    settled("iris")
    page.locator("#setting-bias").uncheck()
    settled("bias")
    page.locator(".finish").click()
    yield settled("iris-weight-space")
    page.locator(".example").select_option("scene start")
    settled("scene")
    page.locator(".finish").click()
    yield settled("start-potential")
    page.locator(".example").select_option("triangle")
    settled("triangle")
    page.locator(".finish").click()
    yield settled("three-classes")
    page.locator(".example").select_option("scene average")
    settled("scene")
    page.locator(".finish").click()
    yield settled("average")
    bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b,label\n1,x,0\n"}
    page.locator(".file").set_input_files(files=[bad])
    yield settled("bad-upload")
    if page.locator(".more").is_visible():
        page.locator(".more").click()
    yield settled("all-tools")
    page.locator(".help").click()
    yield settled("help")


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
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python docs/lab_screenshots.py FOLDER")
    main(Path(sys.argv[1]))
