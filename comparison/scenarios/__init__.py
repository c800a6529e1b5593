"""Data of a study: embedded and generated data sets, and the scenarios made from them."""
