"""Records: decisions, the journal and the log they are kept in, and how forecasts are scored afterwards."""
