"""What the docstrings of claims say, read without an import of their modules.

They are columns of ``claims.csv``, and no code: the rule has them as a parameter.
"""

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def statements(folder: Path = FOLDER) -> list[str]:
    """First paragraphs of the claims' docstrings, in the order of their modules."""
    texts = []
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_bytes())
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and _is_claim(node):
                text = ast.get_docstring(node) or ""
                paragraph, _, _ = text.partition("\n\n")
                texts.append(paragraph.replace("\n", " "))
    return texts


def _is_claim(function: ast.FunctionDef) -> bool:
    """Whether a function is declared as a claim."""
    return any(
        isinstance(decorator, ast.Name) and decorator.id == "claim"
        for decorator in function.decorator_list
    )
