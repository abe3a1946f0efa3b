"""Report: draws what `evaluate` found, as one HTML page or as files. Computes nothing."""

from lodestar.report.gallery import save_figures as save_figures
from lodestar.report.page import page as page
from lodestar.report.page import save_page as save_page
