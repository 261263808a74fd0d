"""Pages opened in a real browser, and what they do that a quiet, offline page does not."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Dialog, Page

QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
)


def watched(chromium: Browser, path: Path, scheme: str = "light", width: int = 1400) -> tuple[Page, list[str]]:
    """The opened page, and a list that grows with everything that a quiet, offline page does not do."""
    complaints: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page = chromium.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
    page.on("dialog", dismiss)
    page.on("request", lambda request: complaints.extend(_foreign(request.url, path)))
    page.goto(path.as_uri())
    return page, complaints


def _foreign(url: str, path: Path) -> list[str]:
    """What to say of a request, which may only be for the page itself and its empty icon."""
    return [] if url.partition("#")[0] == path.as_uri() or url == "data:," else [f"request: {url}"]
