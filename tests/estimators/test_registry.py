"""The registry names every model once, and says of it what its class does."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from bsvdd.estimators import bdd, registry, svdd, svm
from bsvdd.estimators import bsvdd as bsvdd_module
from bsvdd.estimators.base import BaseDetector
from bsvdd.estimators.bayesian import BayesianDataDescription
from bsvdd.estimators.declared import declared
from bsvdd.estimators.registry import MODELS, REGISTRY, YARDSTICKS

import bsvdd

RECORDS = pytest.mark.parametrize("record", REGISTRY.values(), ids=REGISTRY)


def test_names_and_estimators_are_unique():
    source = ast.parse(Path(registry.__file__).read_text(encoding="utf-8"))
    written = [
        call.args[0].value
        for call in ast.walk(source)
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "Record"
    ]
    assert written == [*REGISTRY, *YARDSTICKS]  # a dict would hide a name that comes twice
    assert [record.name for record in [*REGISTRY.values(), *YARDSTICKS.values()]] == written
    assert len({record.class_name for record in MODELS.values()}) == len(written)


def test_every_estimator_of_the_package_has_its_record():
    classes = {
        name
        for module in (svdd, bdd, bsvdd_module, svm)
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    } - {"HyperplaneDetector", "SoftmaxDescription"}
    assert {record.class_name for record in REGISTRY.values()} == classes


@RECORDS
def test_the_estimator_is_public(record):
    cls = getattr(bsvdd, record.class_name)
    assert issubclass(cls, BaseDetector)
    assert cls.__name__ == record.class_name


@RECORDS
def test_bayesian_models_are_those_with_a_posterior(record):
    cls = getattr(bsvdd, record.class_name)
    assert record.bayesian == issubclass(cls, BayesianDataDescription)


@RECORDS
def test_names_of_parameters_are_those_of_the_class(record):
    assert record.parameter_names == list(record.parameters)


def test_names_of_a_class_that_its_module_imports():
    assert declared("bsvdd.estimators.bayesian:DataDescription") == declared(
        "bsvdd.estimators.description:DataDescription"
    )
    assert declared("bsvdd.estimators.description:BaseDetector")["_folds"] == 5
    assert declared("bsvdd.estimators.description:Missing") == {}


@RECORDS
def test_learns_from_minority_rows(record):
    cls = getattr(bsvdd, record.class_name)
    assert ("minority" in record.learns_from) == cls._learns_from_minority
    assert "majority" in record.learns_from
    assert set(record.learns_from) <= {"majority", "minority", "unlabelled"}


@RECORDS
def test_where_a_model_comes_from(record):
    assert record.title and record.reference
    assert 1990 < record.year < 2100
    assert re.fullmatch(r"\d+\.\d+", record.since)
    assert record.doi is None or re.fullmatch(r"10\.\d{4,}/\S+", record.doi)


@RECORDS
def test_the_module_has_the_formula(record):
    module = importlib.import_module(record.module)
    assert module.__name__.startswith(("bsvdd.models.", "bsvdd.estimators."))
    assert ".. math::" in module.__doc__
    assert hasattr(module, "build" if record.bayesian else "solve")


@RECORDS
def test_the_path_leads_to_the_public_class(record):
    assert record.estimator() is getattr(bsvdd, record.class_name)


@RECORDS
def test_parameters_are_those_of_the_estimator(record):
    est = record.estimator()()
    assert set(record.parameters) == set(est.get_params(deep=False))
    for name, default in record.parameters.items():
        assert getattr(est, name) == default
