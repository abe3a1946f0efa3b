"""Report of a bench: the table, the distribution of final results, the rates, the costs; as Markdown, CSV and figures."""

from lodestar.bench.report.write import write_report as write_report
