"""HTML: charts and pages as plain data, one self-contained file out. No library, no network; texts are never markup.

from lodestar.report.html import Axis, Chart, Line, Section, write_page
chart = Chart("loss", [Line("run 1", steps, losses)], x=Axis("step"), y=Axis("loss", log=True))
write_page("page.html", "My runs", [Section("Curves", [chart])])
"""

from lodestar.report.html.blocks import Block as Block
from lodestar.report.html.blocks import Cell as Cell
from lodestar.report.html.blocks import Details as Details
from lodestar.report.html.blocks import Download as Download
from lodestar.report.html.blocks import KeyFigures as KeyFigures
from lodestar.report.html.blocks import Notes as Notes
from lodestar.report.html.blocks import Section as Section
from lodestar.report.html.blocks import Table as Table
from lodestar.report.html.blocks import Text as Text
from lodestar.report.html.chart import Axis as Axis
from lodestar.report.html.chart import Chart as Chart
from lodestar.report.html.chart import ReferenceLine as ReferenceLine
from lodestar.report.html.chart import Shades as Shades
from lodestar.report.html.chart import XSpan as XSpan
from lodestar.report.html.page import page as page
from lodestar.report.html.page import write_page as write_page
from lodestar.report.html.series import Bars as Bars
from lodestar.report.html.series import Histogram as Histogram
from lodestar.report.html.series import Line as Line
from lodestar.report.html.series import Mark as Mark
from lodestar.report.html.series import Scatter as Scatter
from lodestar.report.html.series import Shading as Shading
from lodestar.report.html.series import density as density
from lodestar.report.html.series import histogram as histogram
from lodestar.report.html.thin import thin as thin

# Their names in release one, each of which meant something else elsewhere.
Band, Facts, Fold, Points, Rule, Series, Span = Shading, KeyFigures, Details, Scatter, ReferenceLine, Mark, XSpan
