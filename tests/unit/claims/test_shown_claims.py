"""Claims by a test and the tests of identities name each other."""

import ast
from pathlib import Path

from shown_claims import SHOWN

ROOT = Path(__file__).parents[3]


def test_claims_by_a_test_and_the_tests_of_identities_name_each_other() -> None:
    tests = set()
    for file in Path(__file__).parent.glob("test_identities*.py"):
        module = ast.parse(file.read_text("utf-8"))
        for statement in module.body:
            if isinstance(statement, ast.FunctionDef):
                tests.add((file.relative_to(ROOT).as_posix(), statement.name))
    tests = {(file, name) for file, name in tests if name.startswith("test_")}
    named = set()
    for result in SHOWN.values():
        file, _, name = result.test.partition("::")
        named.add((file, name))
    assert named == tests
