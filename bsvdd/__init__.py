"""Bayesian support vector data description on PyMC.

Names are imported when they are first used, so that ``import bsvdd`` is quick.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
