"""Docstrings of what users call: parameters with types, what is returned, examples.

    uv run python -m tests.house.test_docstrings

prints what is lacking. Public are the names of `bsvdd`, the methods of its estimators,
and what the pages of docs/reference show. In a module that a page shows as a whole, a
function whose docstring has no section is a helper: its signature says the rest.
"""

import inspect
import pkgutil
import re
from dataclasses import is_dataclass

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

from bsvdd.estimators.of_rows import OfRows
from tests.house.test_docs import DOCS, PUBLIC, functions_and_classes

SHOWN_BY_OTHERS = {"bsvdd.kernels.Kernel", "bsvdd.kernels.as_kernel"}
CODES = {"GL08", "PR01", "PR02", "PR04", "PR10", "RT01", "YD01"}  # of numpydoc
DIRECTIVE = re.compile(r"\.\. auto(module|class|function):: (\S+)((?:\n +:.*)*)")


class Docstring(Validator):
    """A docstring, which a method may have from a base class."""

    def __init__(self, value):
        super().__init__(get_doc_object(value))
        self.raw_doc = self.clean_doc

    @property
    def doc_all_parameters(self):
        """Return what is documented; a dataclass may list its fields as attributes."""
        found = super().doc_all_parameters
        if is_dataclass(self.obj):
            fields = self._doc_parameters(["Attributes"]).items()
            own = {k: v for k, v in fields if k in self.signature_parameters}
            found = own | found  # a default of None is an attribute without a type
        return found

    def lacking(self, name, is_helper):
        """Return the errors that count for what a page shows under a name."""
        codes = CODES | ({"EX01"} if name in PUBLIC - SHOWN_BY_OTHERS else set())
        sections = {"Parameters", "Returns", "Yields"} & set(self.section_titles)
        is_class = inspect.isclass(self.obj)
        if is_helper and not sections:
            codes = {"GL08"}
        elif is_class and issubclass(self.obj, OfRows) and name not in PUBLIC:
            codes = CODES - {"PR01"}  # users make no object of it
        found = validate(None, lambda obj_name: self)["errors"]
        return [error for error in found if error[0] in codes]


def resolved(name):
    """Return the value of a name; `bsvdd.kernels` is an attribute, and no module."""
    try:
        return pkgutil.resolve_name(name)
    except ImportError:
        return pkgutil.resolve_name(name.replace("bsvdd.", "bsvdd:", 1))


def methods(cls, options):
    """Return the methods and properties of a class that a page shows."""
    listed = re.search(r":members:(.*)", options)
    every = issubclass(cls, OfRows) or (listed and not listed[1])
    some = re.findall(r"\w+", listed[1]) if listed else []
    for name in [n for n in dir(cls) if n[0] != "_"] if every else some:
        value = inspect.getattr_static(cls, name)
        value = getattr(value, "__func__", value)  # of a class method
        code = getattr(value, "fget", getattr(value, "func", value))
        if inspect.isfunction(code) and code.__module__.startswith("bsvdd."):
            yield f"{code.__module__}.{code.__qualname__}", value


def shown():
    """Return what is public by its full name: its name here, value, is a helper."""
    pages = [path.read_text(encoding="utf-8") for path in DOCS.glob("reference/*.md")]
    named = [("", name, "") for name in PUBLIC] + DIRECTIVE.findall("\n".join(pages))
    found = {}
    for kind, name, options in sorted(named, key=lambda each: each[0] == "module"):
        value = resolved(name)
        names = [name]
        if inspect.ismodule(value):
            whole = kind == "module" and ":no-members:" not in options
            names = functions_and_classes(value) if whole else []
        for each in sorted(names):
            value = resolved(each)
            own = {f"{value.__module__}.{value.__qualname__}": (each, value)}
            if inspect.isclass(value):
                for full, part in methods(value, options):
                    own[full] = full, part
            for full, part in own.items():
                found.setdefault(full, (*part, kind == "module"))
    return found


def lacking():
    """Return a line for each error."""
    return sorted(
        f"{full}: {code} {text}"
        for full, (name, value, is_helper) in shown().items()
        for code, text in Docstring(value).lacking(name, is_helper)
    )


def test_docstrings_are_complete():
    assert len(shown()) > 300
    assert lacking() == []


if __name__ == "__main__":
    print("\n".join(lacking()))
