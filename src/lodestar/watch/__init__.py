"""Watch: running jobs on a live page or in a terminal, and commands to them.

Reads what a job leaves: its decision log, and beside it the points it measured. Writes one thing: the small file in
which a command waits. `jobs` and `outlook` gather, `commands` sends, `server` and `text` show. A job knows nothing of
any of it, and goes on whatever becomes of it.
"""
