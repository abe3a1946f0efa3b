"""Records: decisions and their outcomes, the journal and the log they are kept in, and how forecasts are scored."""
