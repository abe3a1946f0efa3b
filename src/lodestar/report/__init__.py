"""Report: what was found, as one HTML page or as files of figures. Computes nothing.

`sections` says what is shown: one function a chart, plain data. `html` draws it on a page,
`draw` into a PNG or SVG file.
"""

from lodestar.report.page import page as page
from lodestar.report.page import save_figures as save_figures
from lodestar.report.page import save_page as save_page
