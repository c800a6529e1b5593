"""The report of one fitted model, and the pages that all reports are made of."""
