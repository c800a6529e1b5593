"""One value a line, one meaning a name: what ruff does not check in the product."""

import ast
from collections import defaultdict

from .test_arrows import MODULES, ROOT

MOST_PACKED = 20
MOST_CHARACTERS = 88
MOST_FILES = 2  # that have a constant of one name
SEVERAL = {"build", "BDD", "BDDM", "BSVDD", "BSVDDM"}  # the model, and its estimator
RIDDLES = ("Return those of", "Return that of", "Return it from")
OTHERS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in ("benchmarks", "docs")
    for path in sorted((ROOT / folder).glob("*.py"))
}
SAMPLE = '''"""A module."""
WIDE = LONG = 1
TYPED: int = 2
a, b = 1, 2
a, b = b, a
a, b = divmod(7, 2)
class Ball:
    """Return those of a ball."""
    def method(self): self.x, self.y = 3, 4
def radius(): pass
def _radius(): pass
'''


def documented(source):
    """Return the nodes of a source that have a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, kinds)]
    return [n for n in nodes if ast.get_docstring(n) is not None]


def packed(source):
    """Return the assignments of several values to as many names, but no swaps."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Tuple)
        and sorted(map(ast.unparse, target.elts))
        != sorted(map(ast.unparse, node.value.elts))
    ]


def constants(source):
    """Return the names in capitals that a module assigns to."""
    body = ast.parse(source).body
    some = [node for node in body if isinstance(node, ast.Assign | ast.AnnAssign)]
    names = (each for node in some for each in ast.walk(node))
    stored = (n for n in names if isinstance(n, ast.Name))
    return {n.id for n in stored if isinstance(n.ctx, ast.Store) and n.id.isupper()}


def definitions(source):
    """Return the names of the public functions and classes of a module."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    names = {n.name for n in ast.parse(source).body if isinstance(n, kinds)}
    return {name for name in names if not name.startswith("_")}


def wide(source):
    """Return the lines that are too long, without docstrings."""
    texts = [node.body[0] for node in documented(source)]
    skipped = {i for n in texts for i in range(n.lineno, n.end_lineno + 1)}
    lines = enumerate(source.splitlines(), 1)
    too_long = [(i, line) for i, line in lines if len(line) > MOST_CHARACTERS]
    return [f"line {i}: {line}" for i, line in too_long if i not in skipped]


def riddles(source):
    """Return the docstrings whose subject is a pronoun."""
    texts = [ast.get_docstring(node) for node in documented(source)]
    return [text.partition("\n")[0] for text in texts if text.startswith(RIDDLES)]


def places(found, modules):
    """Return the modules of each name that ``found`` gives of a source."""
    named = defaultdict(list)
    for module, source in modules.items():
        for name in found(source):
            named[name].append(module)
    return named


def told(found):
    """Return a line for each name, with its modules."""
    return "\n" + "\n".join(f"{name}: {', '.join(at)}" for name, at in found.items())


def test_the_checks_see_what_they_are_for():
    long = f"{'x' * MOST_CHARACTERS}\n"
    assert len(packed(SAMPLE)) == 2
    assert constants(SAMPLE) == {"WIDE", "LONG", "TYPED"}
    assert definitions(SAMPLE) == {"Ball", "radius"}
    assert riddles(SAMPLE) == ["Return those of a ball."]
    assert wide(f"{SAMPLE}{long}") == [] and len(wide(f"{SAMPLE}x{long}")) == 1
    assert wide(f'"""{long}"""') == []


def test_a_line_assigns_one_value():
    found = places(packed, MODULES)
    assert sum(map(len, found.values())) <= MOST_PACKED, told(found)


def test_no_line_is_too_long():
    found = places(wide, MODULES)
    assert not found, told(found)


def test_a_constant_has_one_meaning():
    named = places(constants, MODULES)
    found = {name: at for name, at in named.items() if len(at) > MOST_FILES}
    assert not found, told(found)


def test_a_function_or_class_has_a_name_of_its_own():
    named = places(definitions, MODULES)
    found = {n: at for n, at in named.items() if len(at) > 1 and n not in SEVERAL}
    assert not found, told(found)


def test_a_docstring_names_what_is_returned():
    found = places(riddles, MODULES | OTHERS)
    assert not found, told(found)
