"""The core: units, points, Gram statistics, models, draws, the centre and its boundary."""
