"""What each model is: kernels, Gram statistics, priors, and one file for each model."""

import lazy_loader

# lazy, so that the array core (kernels, Gram, geometry) loads without PyMC
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "bandwidth",
        "bdd",
        "bdd_m",
        "bsvdd",
        "bsvdd_m",
        "density",
        "factor",
        "fields",
        "gaussian",
        "geometry",
        "kernels",
        "landmarks",
        "lssvm",
        "minority",
        "ocsvm",
        "potential",
        "priors",
        "qp",
        "registry",
        "svdd",
        "svm",
        "variable",
    ],
    submod_attrs={"gram": ["Gram"]},
)
