"""Sections of the report: each file turns one kind of finding into a section of the page. Plain data in and out."""

from lodestar.report.sections.glimpse import Glimpse as Glimpse
from lodestar.report.sections.glimpse import glimpse as glimpse
from lodestar.report.sections.steered import SteeredRun as SteeredRun
from lodestar.report.sections.steered import join_runs as join_runs
from lodestar.report.sections.steered import read_steered as read_steered
from lodestar.report.sections.whole import ReportPage as ReportPage
from lodestar.report.sections.whole import build_report as build_report
