"""The page: one HTML text with style and script inside, known to its own security policy by their hashes.

Goes out: the page and the policy that the server sends with it. The charts are drawn by the report's own renderer.
"""

import importlib.resources

from lodestar import __version__
from lodestar.report.html.page import asset, digest, renderer


def page() -> tuple[str, str]:
    """The page, and its content security policy."""
    script = renderer("theme.js", extra=_file("watch.js"))
    style = asset("style.css") + _file("watch.css")
    known = f"script-src 'sha256-{digest(script)}';style-src 'sha256-{digest(style)}'"
    others = "connect-src 'self';img-src data:;base-uri 'none';form-action 'none';frame-ancestors 'none'"
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">'
        f'<meta name="generator" content="lodestar {__version__}"><title>Lodestar: jobs</title><style>{style}</style>'
        f"</head><body>{_file('body.html')}<script>{script}</script></body></html>"
    )
    return html, f"default-src 'none';{known};{others}"


def _file(name: str) -> str:
    return (importlib.resources.files("lodestar.watch") / name).read_text("utf-8")
