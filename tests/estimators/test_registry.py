"""The registry names every model once, and says of it what its class does."""

import importlib
import inspect
import re

import pytest
from bsvdd.estimators import bdd, registry, svdd, svm, views
from bsvdd.estimators import bsvdd as bsvdd_module
from bsvdd.estimators.bayesian import Bayesian
from bsvdd.estimators.detector import Detector
from bsvdd.estimators.registry import BAYESIAN, ESTIMATORS, JOINED, REGISTRY, SHARED

import bsvdd


def test_names_and_classes_are_unique():
    written = [table for tables in registry._TABLES.values() for table in tables]
    assert len({table["name"] for table in written}) == len(ESTIMATORS) == len(written)
    assert len({record.class_name for record in ESTIMATORS.values()}) == len(written)


@pytest.mark.parametrize(
    ("records", "modules"),
    [
        (REGISTRY, (svdd, bdd, bsvdd_module, svm)),
        (JOINED, (views,)),
    ],
    ids=["models", "joined"],
)
def test_every_estimator_of_the_package_has_its_record(records, modules):
    classes = {
        name
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Detector)
        and value.__module__ == module.__name__
    } - {"HyperplaneDetector", "Separating", "DensityWeighted"}
    assert {record.class_name for record in records.values()} == classes


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_record_says_what_its_class_does(name):
    record = ESTIMATORS[name]
    cls = record.estimator()
    assert cls.__name__ == record.class_name and issubclass(cls, Detector)
    assert (
        record.needs_minority == ("minority" in record.learns_from) == cls()._learns_from_minority
    )
    assert record.bayesian == issubclass(cls, Bayesian)
    family = (*SHARED, *(BAYESIAN if record.bayesian else ()))
    if name in JOINED:  # kernels are those of the views
        family = tuple(parameter for parameter in family if parameter != "kernel")
    own = (p for p in record.parameters if p not in family)
    assert set(record.parameters) == {*family, *record.own} and record.own == tuple(own)
    assert record.parameters == cls().get_params(deep=False)
    assert record.title and record.reference and 1990 < record.year < 2100
    assert record.doi is None or re.fullmatch(r"10\.\d{4,}/\S+", record.doi)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_model_is_public_and_its_module_has_the_formula(name):
    record = REGISTRY[name]
    assert record.estimator() is getattr(bsvdd, record.class_name)
    module = importlib.import_module(record.module)
    assert module.__name__.startswith(("bsvdd.models.", "bsvdd.estimators."))
    assert ".. math::" in module.__doc__
    assert hasattr(module, "build" if record.bayesian else "solve")
