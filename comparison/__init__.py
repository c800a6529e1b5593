"""The comparative study: data sets, runner, table and report."""
