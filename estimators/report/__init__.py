"""The report of one fitted model, and the page that all reports are made of."""
