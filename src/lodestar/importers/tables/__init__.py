"""Tables: CSV, JSON lines, JSON and Parquet files of runs."""
