"""Make the pictures of docs/page.md with a real browser: `python -m tools.screenshots [FOLDER]`."""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path
from zlib import compress, crc32

import numpy as np
from playwright.sync_api import Page

from tests.serve.page.browser import CHROMIUM, MISSING, chromium, served, signed_in
from tests.serve.page.world import furnish

FOLDER = Path(__file__).parent.parent / "docs" / "page"
WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
PROMPT = "core?prompt=Can%20we%20serve%20tea%20at%20the%20launch%3F#now"


def shots(home: Path) -> dict[str, tuple[str, dict[str, int], str]]:
    """What each picture shows: the path, the size of the window, and the colours."""
    from memfolio.memory import Memory

    with Memory.open(home, background=False, speaker="owner") as memory:
        tea = memory.recall("green tea in the morning", types=["preference"])[0].memory.id
        launch = next(hit.memory.id for hit in memory.recall("Mia works at Acme introduce us") if hit.memory.role)
        fact = next(each.id for each in memory.facts.all(include_derived=True) if each.is_derived)
        change = next(each.seq for each in memory.audit.log(limit=50) if "quiet car" in each.summary)
    return {
        "review": ("review", WIDE, "light"),
        "memories": (f"memories/{launch}", WIDE, "light"),
        "asked": (f"memories/{tea}?q=what%20does%20Alex%20drink%3F", WIDE, "dark"),
        "history": ("history", WIDE, "light"),
        "undo": (f"undo?seq={change}", WIDE, "light"),
        "purge": (f"undo?purge={tea}", WIDE, "light"),
        "core": ("core", WIDE, "light"),
        "said": (PROMPT, WIDE, "light"),
        "thing": ("things/person--mia?hops=2", WIDE, "light"),
        "things": ("things", WIDE, "dark"),
        "knowledge": ("knowledge", WIDE, "light"),
        "fact": (f"knowledge/{fact}", WIDE, "light"),
        "mind": ("mind", WIDE, "light"),
        "health": ("health?checks=1", WIDE, "light"),
        "phone-review": ("review", PHONE, "light"),
        "phone-memories": ("memories", PHONE, "dark"),
        "phone-memory": (f"memories/{launch}", PHONE, "light"),
        "phone-history": ("history", PHONE, "light"),
        "phone-core": ("core", PHONE, "dark"),
        "phone-thing": ("things/person--mia", PHONE, "light"),
    }


def settle(tab: Page) -> None:
    tab.wait_for_load_state("load")
    if tab.locator(".row .why").count():
        tab.locator(".row .why summary").first.click()
        tab.mouse.move(0, 0)
    tab.wait_for_timeout(400)


PIXELS = """async (data) => {
    const image = await createImageBitmap(await (await fetch("data:image/png;base64," + data)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const bytes = canvas.getImageData(0, 0, image.width, image.height).data;
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return [image.width, image.height, btoa(text)];
}"""


def smaller(png: bytes, blank: Page) -> bytes:
    """The same picture with 256 colours, which takes a third of the room."""
    width, height, data = blank.evaluate(PIXELS, b64encode(png).decode())
    pixels = np.frombuffer(b64decode(data), np.uint8).reshape(-1, 4)[:, :3]
    rough = (pixels >> 3).astype(np.uint32) @ np.array([1 << 10, 1 << 5, 1], np.uint32)
    shades, counts = np.unique(rough, return_counts=True)
    kept = shades[np.argsort(-counts)[:256]]
    # Of each kept shade the colour that it has most often, so that flat surfaces are exact.
    palette = np.array([_usual(pixels[rough == shade]) for shade in kept], np.int32)
    table = np.zeros(1 << 15, np.uint8)
    for shade in shades:
        colour = (np.array([shade >> 10, shade >> 5 & 31, shade & 31], np.int32) << 3) + 4
        table[shade] = int(np.argmin(((palette - colour) ** 2).sum(axis=1)))
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = table[rough].reshape(height, width)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colours, content = palette.astype(np.uint8).tobytes(), compress(rows.tobytes(), 9)
    parts = {b"IHDR": header, b"PLTE": colours, b"IDAT": content, b"IEND": b""}
    number = struct.Struct(">I").pack
    chunks = [number(len(each)) + name + each + number(crc32(name + each)) for name, each in parts.items()]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _usual(colours: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> list[int]:
    found, counts = np.unique(colours, axis=0, return_counts=True)
    return [int(each) for each in found[np.argmax(counts)]]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="memfolio-shots-") as place:
        os.environ["MEMFOLIO_CACHE"] = f"{place}/cache"
        home = Path(place) / "home"
        furnish(home)
        wanted = shots(home)
        with served(home) as site, chromium() as browser:
            blank = browser.new_page()
            for name, (path, size, scheme) in wanted.items():
                with signed_in(browser, site, viewport=size, color_scheme=scheme) as (tab, watched):
                    tab.goto(site.url(path))
                    settle(tab)
                    (folder / f"{name}.png").write_bytes(smaller(tab.screenshot(), blank))
                    print(name, *watched.troubles)


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit(MISSING)
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
