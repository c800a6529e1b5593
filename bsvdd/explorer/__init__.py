"""The explorer: change a prior in Jupyter and see at once what it changes."""

# First: while it is imported, a library that it uses inspects the stack. This takes longer the more
# modules there are: a second if scikit-learn, matplotlib and PyMC are imported before.
import arviz_stats  # noqa: F401
import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["explorer", "page", "picture", "state"],
    submod_attrs={"explorer": ["Explorer", "explore"]},
)
