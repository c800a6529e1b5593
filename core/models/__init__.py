"""What each model is: its formula, its PyMC model, its map to the weights, value and gradient."""
