"""The project's own files agree with each other and with the package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import overread

ROOT = Path(__file__).parents[1]
LOCKS = ("lock.txt", "dev.txt", "weights.txt")
NOT_OURS = {
    ".git", ".venv", ".overread", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
    ".import_linter_cache", "__pycache__", "build", "dist", "overread-demo",
}  # fmt: skip


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(lock: str) -> dict[str, list[Requirement]]:
    """Package -> its pinned requirements (more than one where a marker tells Pythons apart)."""
    found: dict[str, list[Requirement]] = {}
    for line in read(f"requirements/{lock}").splitlines():
        if re.match(r"[A-Za-z0-9]", line):
            requirement = Requirement(line.removesuffix("\\").strip())
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def version_of(pin: Requirement) -> str:
    (only,) = pin.specifier
    assert only.operator == "=="
    return only.version


def our_files() -> list[Path]:
    """What git knows or would add; every file of the tree where there is no git."""
    git = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if git.returncode == 0 and git.stdout:
        names = [ROOT / name for name in git.stdout.decode().split("\0") if name]
    else:
        names = [p for p in ROOT.rglob("*") if not NOT_OURS & set(p.relative_to(ROOT).parts)]
    return [path for path in names if path.is_file()]


# ---------------------------------------------------------------- versions and licence


def test_the_version_is_the_same_everywhere() -> None:
    assert re.search(r"^version: (.+)$", read("CITATION.cff"), re.M)[1] == overread.__version__  # type: ignore[index]
    newest = re.search(
        r"^## \[([^\]]+)\] - (unreleased|\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.M
    )
    assert newest, "CHANGELOG.md: expected a heading such as ## [0.1.0] - unreleased"
    assert newest[1] == overread.__version__


def test_the_licence_is_complete() -> None:
    text = read("LICENSE")
    for number in range(1, 10):
        assert re.search(rf"^   {number}\. [A-Z]", text, re.M), f"section {number} is missing"
    for part in (
        "Version 2.0, January 2004",
        "END OF TERMS AND CONDITIONS",
        "APPENDIX: How to apply the Apache License to your work.",
        "limitations under the License.",
    ):
        assert part in text


# ---------------------------------------------------------------- locks


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_no_addresses(lock: str) -> None:
    text = read(f"requirements/{lock}")
    assert "://" not in text
    assert not re.search(r"^\s*(-i|-f|--\w*index|--find-links|--trusted-host)", text, re.M)
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.M)[1:]
    assert blocks
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block.splitlines()[0]


def test_the_locks_hold_what_the_package_asks_for() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    extras = project["project"]["optional-dependencies"]
    core = project["project"]["dependencies"] + project["build-system"]["requires"]
    for lock, asked in (("lock.txt", core), ("dev.txt", core + extras["tests"] + extras["lint"])):
        held = pins(lock)
        for wanted in map(Requirement, asked):
            name = canonicalize_name(wanted.name)
            assert name in held, f"{lock} has no {name}; run make lock"
            for pin in held[name]:
                assert wanted.specifier.contains(version_of(pin)), f"{lock}: {pin}; run make lock"


def test_the_tests_run_on_the_versions_that_users_get() -> None:
    dev = {name: {str(pin) for pin in found} for name, found in pins("dev.txt").items()}
    for name, found in pins("lock.txt").items():
        assert {version_of(pin) for pin in found} == {
            version_of(Requirement(pin)) for pin in dev[name]
        }, name


def test_the_core_stays_light() -> None:
    heavy = {"torch", "ray", "pandas", "scikit-learn", "transformers", "openai", "httpx"}
    assert not heavy & set(pins("lock.txt"))


def test_every_installed_package_has_its_notice() -> None:
    notices = read("THIRD_PARTY_NOTICES.md")
    for name, found in pins("lock.txt").items():
        row = re.search(rf"^\| {re.escape(name)} \| ([^|]+) \| (\S[^|]*) \|$", notices, re.M)
        assert row, f"THIRD_PARTY_NOTICES.md has no row for {name}"
        assert set(row[1].strip().split(", ")) == {version_of(pin) for pin in found}, name


# ---------------------------------------------------------------- what a visitor reads


def test_the_readme_sets_up_with_two_commands() -> None:
    section = read("README.md").split("## Set-up")[1].split("\n## ")[0]
    (block,) = re.findall(r"^```\n(.*?)^```", section, re.M | re.S)
    assert block.splitlines() == ["make demo", "make test"]


def test_the_readme_says_what_this_is_not() -> None:
    assert "Evaluation software, not a medical device; a passed gate is not a clearance." in read(
        "README.md"
    )
    assert "not a medical device; a passed gate is not a clearance" in (overread.__doc__ or "")


@pytest.mark.parametrize(
    "page", sorted(str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", read(page)):
        if "://" not in target:
            assert ((ROOT / page).parent / target).is_file(), f"{page}: {target} is not there"


def test_the_architecture_page_draws_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    (drawn,) = re.findall(r"^```\n(cli\n.*?)^```", read("docs/architecture.md"), re.M | re.S)
    lines = [set(re.findall(r"\w+", line.replace("later also", ""))) for line in drawn.splitlines()]
    assert lines == [set(re.findall(r"\w+", layer)) for layer in layers]


def test_every_make_target_of_the_pages_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.M))
    assert {"demo", "test", "lint", "bench", "lock", "clean", "help"} <= targets
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z]+)", read(page), re.M))
        assert named <= targets, f"{page}: {named - targets}"


# ---------------------------------------------------------------- what must not be in the tree


def test_no_file_names_a_package_index_or_the_place_it_was_written_in() -> None:
    # In pieces, so that this file does not find itself.
    words = [
        "pypi" + ".org", "python" + "hosted", "/opt/" + "pypi", "/opt/" + "wheels",
        "registry." + "npmjs", "conda." + "anaconda", "static." + "crates", "index" + ".crates",
        str(ROOT) + "/", str(ROOT.parent / "shared") + "/",
    ]  # fmt: skip
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in our_files()
        for word in words
        if word.encode() in path.read_bytes()
    ]
    assert not found


def test_the_allowed_skips_are_patterns() -> None:
    for line in read("tests/allowed_skips.txt").splitlines():
        re.compile(line)


# ---------------------------------------------------------------- importing


def test_importing_overread_imports_nothing_heavy() -> None:
    code = "import sys, overread; print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    heavy = {"numpy", "scipy", "polars", "aiohttp", "PIL", "pydicom", "typer", "rich", "pydantic"}
    assert "overread" in loaded
    assert not heavy & loaded


def test_what_is_named_slow_exists(pytestconfig):
    declared = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py")).SLOW
    assert len(set(declared)) == len(declared) > 0
    assert [name for name in declared if not (ROOT / "tests" / name).exists()] == []
