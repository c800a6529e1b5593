"""From a model to a decision: sampling, distance, cutoff, decision, estimators, plots."""
