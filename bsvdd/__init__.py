"""Bayesian support vector data description on PyMC."""
