"""``pytrace check``: policies, violations, and what CI reads."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytrace.cli.main import main
from pytrace.report import check
from pytrace.report.policy import EXAMPLE, PolicyError, parse
from pytrace.store import Store
from tests.trees import commit_all

N = "aten/src/ATen/native"


def violations(store: Store, text: str) -> dict[str, str]:
    found = check.report(store, parse(text), policy="p")
    return {violation.subject: violation.message for violation in found.violations}


def rule(where: str, require: str, about: str = "operators", more: str = "") -> str:
    return f'[[rule]]\nid = "r"\nabout = "{about}"\nwhere = {{ {where} }}\nrequire = {{ {require} }}\n{more}\n'


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (
            rule('has = ["cuda"]', 'runs-on = ["cpu"]'),
            {"aten::_cudnn_rnn": "cannot run on CPU"},
            ["aten::gelu.out", "aten::conv2d"],
        ),
        (rule('has = ["cuda"]', 'has = ["mps"]'), {"aten::gelu.out": "has no kernel for MPS"}, ["aten::mul.out"]),
        (rule('tag = ["core"]', "structured = true"), {}, ["aten::mul.Tensor"]),
        (rule('ops = ["sort_rows"]', "backward = false"), {"aten::sort_rows": "can be differentiated"}, []),
        (rule('tag = ["core"]', "structured = false"), {"aten::mul.Tensor": "is structured"}, []),
        (rule('ops = ["_cudnn_rnn"]', "meta = true"), {"aten::_cudnn_rnn": "has no meta function"}, []),
        (rule('namespace = ["aten"]', "public = true"), {"aten::_cudnn_rnn": "is private"}, ["aten::gelu"]),
        (rule('has = ["cpu"]', 'has = ["cuda"]', "stubs"), {"GeluKernel": "is not registered for CUDA"}, ["mul_stub"]),
        (rule('has = ["cuda"]', 'runs-on = ["cpu"]', more='except = ["_cudnn*"]'), {}, ["aten::_cudnn_rnn"]),
    ],
)  # fmt: skip
def test_rules(mini: Store, text: str, inside: dict[str, str], outside: list[str]) -> None:
    found = violations(mini, text)
    for subject, message in inside.items():
        assert message in found.get(subject, ""), found
    assert not set(outside) & set(found)


def test_a_violation_has_a_place(mini: Store) -> None:
    found = check.report(mini, parse(rule('ops = ["aten::_cudnn_rnn"]', 'has = ["cpu"]')), policy="p")
    (violation,) = found.violations
    path, _, line = violation.at.rpartition(":")
    with open(f"{mini.meta('root')}/{path}") as file:
        assert "- func: _cudnn_rnn(" in file.read().split("\n")[int(line) - 1]


def test_the_example_is_a_policy() -> None:
    assert [rule.id for rule in parse(EXAMPLE)] == [
        "cuda-runs-on-cpu",
        "core-has-meta",
        "stub-for-cpu",
        "no-lost-backend",
    ]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", "no [[rule]]"),
        ("[[rule]", "not TOML"),
        ("[[rule]]\n", "rule 1 needs an id"),
        ('[[rule]]\nid = "a b"\n', "needs an id"),
        ('[[rul]]\nid = "a"\n', "Did you mean rule?"),
        (rule('hass = ["cuda"]', "meta = true"), "Did you mean has?"),
        (rule("", 'meta = "yes"'), "meta in `require` of rule 1 (r) is true or false"),
        (rule("", "has = 3"), "must be a text or a list of texts"),
        (rule("", "", more=""), "it says what to `require`"),
        (rule("", "meta = true", more='level = "fatal"'), "must be error or warning or note"),
        (rule("", "meta = true") * 2, "Two rules have the id r"),
        ('[[rule]]\nid = "a"\nabout = "change"\nforbid = ["lost-backends"]\n', "Did you mean lost-backend?"),
        ('[[rule]]\nid = "a"\nabout = "change"\n', "it says what to `forbid`"),
        ("rule = 3\n", "[[rule]] tables"),
        ("a = " + "[" * 3000, "It is"),
    ],
)
def test_mistakes_in_a_policy(text: str, holds: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse(text)
    assert holds in str(error.value)


def test_words_that_nothing_has(mini: Store) -> None:
    for condition, said in (
        ('tag = ["corre"]', "No operator has the tag corre. Tags are core"),
        ('namespace = ["atten"]', "No operator is of the namespace atten. Namespaces are aten"),
        ('ops = ["geluu"]', "No operator is named geluu."),
    ):
        for where, require in ((condition, "meta = true"), ("", condition)):
            with pytest.raises(PolicyError, match=f"rule r: {said}"):  # not a rule that holds of nothing
                violations(mini, rule(where, require))
    assert violations(mini, rule('ops = ["geluu*"]', "meta = true")) == {}  # a pattern may fit nothing
    with pytest.raises(PolicyError, match="rule r: There is no dispatch key tpu"):
        violations(mini, rule('has = ["tpu"]', "meta = true"))


CHANGE = """
[[rule]]
id = "lost"
about = "change"
forbid = [
  "lost-backend", "removed-operator", "schema-changed", "lost-formula", "formula-changed", "lost-stub", "lost-kernel",
]
"""


def run(repository: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--root", str(repository), "-q", "--jobs", "1", *arguments])


@pytest.fixture
def worse(repository: Path) -> Path:
    (repository / "pytrace.toml").write_text(CHANGE)
    yaml = repository / f"{N}/native_functions.yaml"
    text = yaml.read_text()
    text = text.replace("    MPS: mul_out_mps\n", "", 1).replace("- func: chunk(", "- func: chunks(", 1)
    yaml.write_text(text)
    commit_all(repository, "worse")
    return repository


def test_a_change_against_its_base(worse: Path) -> None:
    result = run(worse, "--base", "HEAD~1")
    assert result.exit_code == 1
    for text in (
        "aten::mul.out could run on MPS at the base, and cannot now",
        "aten::chunk is gone",
        "did it become aten::chunks?",
        "aten::mul.out has no MPS row any more (it was at::native::structured_mul_out_mps::impl)",
    ):
        assert text in " ".join(result.output.split()), result.output
    assert run(worse, "--base", "HEAD").exit_code == 0


def test_a_rule_that_cannot_be_checked_is_said_to_be_skipped(worse: Path) -> None:
    result = run(worse)
    assert result.exit_code == 0
    assert "not checked: it is about a change" in result.output


@pytest.mark.parametrize(
    ("level", "strict", "code"), [("error", False, 1), ("warning", False, 0), ("warning", True, 1), ("note", True, 0)]
)
def test_exit_codes(repository: Path, level: str, strict: bool, code: int) -> None:
    (repository / "pytrace.toml").write_text(rule('ops = ["gelu"]', 'has = ["xpu"]', more=f'level = "{level}"'))
    assert run(repository, *(["--strict"] if strict else [])).exit_code == code


def test_a_bad_policy_is_a_mistake_of_usage(repository: Path) -> None:
    (repository / "pytrace.toml").write_text("[[rule]]\n")
    result = run(repository)
    assert (result.exit_code, "pytrace.toml: rule 1 needs an id" in result.output) == (2, True)


def test_no_policy(repository: Path) -> None:
    result = run(repository)
    assert result.exit_code == 1
    assert "pytrace check --example" in result.output


def test_paths_of_annotations_begin_at_the_top_of_the_repository(repository: Path) -> None:
    (repository / "pytrace.toml").write_text(
        '[[rule]]\nid = "x"\nabout = "operators"\nwhere = { ops = ["cumsum.out"] }\nrequire = { has = ["xpu"] }\n'
    )
    inner = repository / "third_party" / "pytorch"
    inner.mkdir(parents=True)
    for name in ("aten", "tools", "torch", "torchgen", "version.txt", "pytrace.toml"):
        if (repository / name).exists():
            (repository / name).rename(inner / name)
    line = run(inner, "--format", "github").output.splitlines()[0]
    assert line.startswith("::error file=third_party/pytorch/aten/src/ATen/native/native_functions.yaml,line=")


def test_github_annotations(worse: Path) -> None:
    result = run(worse, "--base", "HEAD~1", "--format", "github")
    lines = [line for line in result.output.splitlines() if line.startswith("::")]
    assert lines
    for line in lines:
        assert line.startswith("::error file=aten/src/ATen/native/native_functions.yaml,")
        assert ",title=pytrace%3A lost::" in line


def test_junit(worse: Path) -> None:
    result = run(worse, "--base", "HEAD~1", "--format", "junit")
    tree = ElementTree.fromstring(result.output.encode())
    failures = tree.findall(".//failure")
    assert int(tree.get("failures", "0")) == len(failures) > 0
    assert tree.find("testsuite").get("name") == "lost"  # type: ignore[union-attr]


def test_json_and_markdown(worse: Path) -> None:
    found = json.loads(run(worse, "--base", "HEAD~1", "--format", "json").output)
    assert found["rules"][0]["violations"]
    assert "| `lost` | error |" in run(worse, "--base", "HEAD~1", "--format", "markdown").output
