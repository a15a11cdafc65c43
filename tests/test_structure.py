"""House rules that readers rely on and that reviews tend to miss."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("attnjax", "launch", "benchmarks")
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in PACKAGES
    for path in sorted((ROOT / folder).rglob("*.py"))
    # programs of other engines, which import nothing of ours
    if "peers" not in path.parts
}
EXPERIMENTS = sorted((ROOT / "experiments").glob("*.py"))

# Imports run down these storeys, or stay within one folder. Every folder is on one of them.
STOREYS = (
    ("launch", "benchmarks"),
    ("attnjax.__main__", "attnjax"),
    ("attnjax.lab.cli",),
    ("attnjax.lab.sweeps", "attnjax.lab.trained"),
    ("attnjax.lab.rehearsal", "attnjax.lab.checks"),
    ("attnjax.lab.reporting",),
    ("attnjax.lab.results",),
    ("attnjax.lab.runs",),
    ("attnjax.lab.loop",),
    ("attnjax.lab.checkpoints",),
    ("attnjax.lab.log",),
    ("attnjax.lab",),
    ("attnjax.experiment",),
    ("attnjax.evaluation",),
    ("attnjax.training.devices",),
    ("attnjax.training", "attnjax.decoding"),
    ("attnjax.models",),
    ("attnjax.attention",),
    ("attnjax.nn",),
    ("attnjax.data",),
    ("attnjax.config",),
    ("attnjax.errors", "attnjax.files"),
)
DOORS = ("attnjax", "attnjax.__main__")
"""The modules of the library that import the laboratory, when its names are used."""
CORE = (
    "attnjax.nn",
    "attnjax.attention",
    "attnjax.models",
    "attnjax.decoding",
    "attnjax.training.step",
    "attnjax.training.objectives",
    "attnjax.training.optimizers",
)
NOT_CORE = (
    "babel",
    "grain",
    "orbax",
    "rich",
    "sacrebleu",
    "safetensors",
    "sentencepiece",
    "tensorboardX",
    "tensorflow_datasets",
    "vl_convert",
)


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def folder(module: str) -> str:
    """The room of a module: an entry of STOREYS. A building has no modules but `__init__`."""
    buildings = ("attnjax", "attnjax.lab")
    rooms = [room for rooms in STOREYS for room in rooms if room not in buildings or module == room]
    found = [room for room in rooms if within(module, (room,))]
    assert found, f"{module} is in no room: add its folder to a storey"
    return max(found, key=len)


def storey(module: str) -> int:
    """The number of a module's storey; 0 is the top."""
    return next(number for number, rooms in enumerate(STOREYS) if folder(module) in rooms)


def imports(module: str) -> set[str]:
    """The modules that a module imports, at its top or anywhere inside."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], base]).rstrip(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                # `from flax import linen` names a module of somebody else's.
                found.add(whole if whole in MODULES or whole == "flax.linen" else base)
    return found


def test_every_module_is_in_a_room():
    assert {folder(module) for module in MODULES} <= {room for rooms in STOREYS for room in rooms}


def test_imports_run_downwards():
    upward = [
        f"{module} imports {other}"
        for module in MODULES
        for other in imports(module)
        if within(other, PACKAGES)
        and folder(other) != folder(module)
        and storey(other) <= storey(module)
    ]
    assert not upward


def test_only_the_doors_import_the_laboratory():
    users = {name for name in MODULES if any(within(of, ("attnjax.lab",)) for of in imports(name))}
    others = {name for name in users if not within(name, ("attnjax.lab", "launch", "benchmarks"))}
    assert others == {*DOORS}


def test_no_module_imports_itself_in_a_circle():
    """Imports inside functions count too: they hide a circle and do not open it."""
    below = {module: imports(module) & set(MODULES) - {module} for module in MODULES}
    # a package's table of contents imports its modules, and is no link of theirs
    for module, path in MODULES.items():
        if path.name == "__init__.py":
            below[module] = set()
    circles = TopologicalSorter(below)
    circles.prepare()


@cache
def defined(module: str) -> set[str]:
    """The names that a module defines or imports, and those that it exports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # in `__all__`, of a package that imports when it is asked
    return names


def test_every_imported_name_exists():
    """Also in tests and experiments, of which pyright lets an unknown name pass."""
    missing = [
        f"{path.relative_to(ROOT)} imports {alias.name} from {node.module}"
        for path in [*MODULES.values(), *(ROOT / "tests").rglob("*.py"), *EXPERIMENTS]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in MODULES
        for alias in node.names
        if f"{node.module}.{alias.name}" not in MODULES and alias.name not in defined(node.module)
    ]
    assert not missing


def linen(module: str) -> list[int]:
    """Lines that import Linen at run time, not under `if TYPE_CHECKING`."""
    statements = [
        node
        for branch in ast.parse(MODULES[module].read_text()).body
        if not (isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING")
        for node in ast.walk(branch)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return [
        node.lineno
        for node in statements
        for alias in node.names
        for name in (alias.name, f"{getattr(node, 'module', '')}.{alias.name}")
        if name == "flax" or within(name, ("flax.linen",))
    ]


def test_linen_is_used_in_nn_attention_and_models_only():
    """Elsewhere a model is a value with methods; `if TYPE_CHECKING` may name its type."""
    rooms = ("attnjax.nn", "attnjax.attention", "attnjax.models")
    elsewhere = [name for name in MODULES if not within(name, rooms)]
    found = {module: linen(module) for module in elsewhere}
    assert not any(found.values()), {module: lines for module, lines in found.items() if lines}


def test_no_two_public_types_have_one_name():
    """Neither two classes, nor two `type` statements, nor one of each."""
    found: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.TypeAlias):
                name = node.name if isinstance(node, ast.ClassDef) else node.name.id
                found.setdefault(name, []).append(module)
    public = {name: modules for name, modules in found.items() if not name.startswith("_")}
    assert not {name: modules for name, modules in public.items() if len(modules) > 1}


def test_one_idea_a_file():
    paths = [*MODULES.values(), *(ROOT / "tests").rglob("*.py")]
    tables = ("recorded_names.py",)  # as long as what they list
    lengths = {path: len(path.read_text().splitlines()) for path in paths}
    assert not {
        path: length for path, length in lengths.items() if length > 400 and path.name not in tables
    }
    vague = ("utils.py", "helpers.py", "misc.py")
    assert not [path for path in paths if path.name in vague], "name it after what it does"


BRANCHES = (
    ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.match_case
)  # fmt: skip


def branches(function: ast.AST) -> int:
    """The ways on which a function goes on, those of the functions within included."""
    nodes = [*ast.walk(function)]
    operands = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return operands + sum(isinstance(node, BRANCHES) for node in nodes)


def code_lines(path: Path, node: ast.ClassDef) -> int:
    """The lines of a class that are neither blank nor comments nor in a docstring."""
    described = {
        line
        for part in ast.walk(node)
        if isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Constant)
        and isinstance(part.value.value, str)
        for line in range(part.lineno, (part.end_lineno or 0) + 1)
    }
    lines = enumerate(path.read_text().splitlines()[node.lineno - 1 : node.end_lineno], node.lineno)
    return sum(
        bool(line.strip()) and not line.strip().startswith("#")
        for number, line in lines
        if number not in described
    )


def test_a_function_has_few_branches_and_a_class_few_lines():
    """At most 14 branches, and 120 lines of code."""
    big = []
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and branches(node) > 14:
                big.append(f"{path.name}: {node.name} has {branches(node)} branches")
            if isinstance(node, ast.ClassDef) and code_lines(path, node) > 120:
                big.append(f"{path.name}: {node.name} has {code_lines(path, node)} lines")
    assert not big


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_an_experiment_is_read_in_a_minute(path: Path):
    """A lab note and values: whoever reads the file sees everything that runs."""
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "the note comes first: question, paper, command"
    assert len(text.splitlines()) <= 150


def run(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_attnjax_starts_nothing():
    heavy = run("import sys, attnjax; print(*{'jax', 'flax', 'numpy'} & set(sys.modules))")
    assert not heavy.split()


def test_importing_every_module_starts_no_device():
    names = [name for name in MODULES if within(name, ("attnjax",)) and "__main__" not in name]
    program = (
        f"import importlib\nfor name in {names!r}: importlib.import_module(name)\n"
        "from jax._src import xla_bridge\nassert not xla_bridge._backends, 'a device was started'\n"
    )
    run(program)


def test_the_core_needs_jax_flax_and_optax_alone():
    """Flax itself may load what it likes; our own imports are what is blocked."""
    names = [name for name in MODULES if within(name, CORE)]
    program = f"""
import importlib, sys, flax.linen, optax
for name in {NOT_CORE!r}:
    for loaded in [module for module in sys.modules if module.split(".")[0] == name]:
        del sys.modules[loaded]
    sys.modules[name] = None
for name in {names!r}: importlib.import_module(name)
"""
    run(program)
