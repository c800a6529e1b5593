"""Questions to a fitted estimator, a file each."""
