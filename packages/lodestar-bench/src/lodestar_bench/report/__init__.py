"""Report of a bench: table, distribution of final results, rates, costs; as Markdown, CSV and figures."""

from lodestar_bench.report.write import write_report as write_report
