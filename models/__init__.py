"""What each model is: kernels, the dictionary, priors, and one file for each model."""

import pkgutil

import lazy_loader

# lazy, so that the array core (kernels, dictionary) loads without PyMC
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[module.name for module in pkgutil.iter_modules(__path__)],
    submod_attrs={"dictionary": ["Dictionary"]},
)
