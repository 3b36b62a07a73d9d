"""The command line as a user types it: exit codes, messages without tracebacks, JSON that programs read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from einloom import __version__, settings
from einloom.cli import COMMANDS, main, make_parser
from einloom.cli.demo import called_as
from einloom.jit.host import host
from einloom.jit.recorded import record_rates
from einloom.machine import Rates

INTERPRETED = ["--target", "interpreter", "--runs", "1", "--threads", "1"]


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert "Traceback" not in captured.err
    return captured.err


def usage_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["einloom"] == __version__
    assert facts["caches"].keys() == {"l1d", "l2", "l3"}
    assert facts["cores"] >= 1
    with settings(threads=facts["cores"] + 3):
        assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["threads"] == facts["cores"] + 3
    assert isinstance(facts["features"], list)
    assert "peak" not in facts


def test_info_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    for word in ("machine", "kernels for", "caches", "cores", "threads", "Python"):
        assert f"\n{word}" in text


def test_info_says_what_was_recorded_of_this_processor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rates.json"
    monkeypatch.setenv("EINLOOM_RATES", str(file))
    assert main(["info"]) == 0 and "\nrecorded" not in capsys.readouterr().out
    monkeypatch.setenv("EINLOOM_RATES", str(tmp_path / ("n" * 300)))
    assert main(["info"]) == 0 and "\nrecorded" not in capsys.readouterr().out
    monkeypatch.setenv("EINLOOM_RATES", str(file))
    file.write_text("no rates")
    assert main(["info"]) == 0 and "\nrecorded     no rates of this processor" in capsys.readouterr().out
    record_rates(host(), Rates(1e11, 5e10, 1e11, 5e10, 2e10, 1e10))
    assert main(["info", "--json"]) == 0
    recorded = json.loads(capsys.readouterr().out)["recorded"]
    assert recorded.pop("file") == str(file) and set(recorded) == {each.name for each in fields(Rates)}


def test_cache(tmp_path: Path) -> None:
    def einloom(*arguments: str, cache: str = str(tmp_path / "programs")) -> str:
        line = [sys.executable, "-m", "einloom", *arguments]
        variables = os.environ | {"EINLOOM_CACHE": cache}
        return subprocess.run(line, capture_output=True, text=True, check=True, env=variables).stdout

    assert einloom("cache", "path") == f"{tmp_path / 'programs'}\n"
    einloom("show", "ab->ba", "--sizes", "a=20,b=30")
    assert einloom("cache", "list").splitlines()[-1].startswith("1 programs, ")
    assert einloom("cache", "clear").startswith("1 programs removed")
    assert einloom("cache", "list").startswith("0 programs, 0 bytes")
    assert "off" in einloom("cache", "list", cache="off")


def test_labels_that_the_terminal_cannot_print_are_escaped() -> None:
    line = [sys.executable, "-m", "einloom", "show", "äb->bä", "--sizes", "ä=2,b=3", "--what", "tree"]
    shown = subprocess.run(line, capture_output=True, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert rb"'\xe4b->b\xe4'" in shown.stdout


@pytest.mark.parametrize(
    ("output", "code", "said"), [("&-", 0, ""), ("/dev/full", 2, "einloom: No space left on device\n")]
)
def test_an_output_that_nothing_can_be_written_to(output: str, code: int, said: str) -> None:
    line = f'"$0" -m einloom info --json >{output}'
    done = subprocess.run(["sh", "-c", line, sys.executable], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize(
    ("dtype", "isa", "word"),
    [
        ("bfloat16", "neon", "shll"),
        ("int8", "avx2", "vpmulld"),
        ("complex128", "sve256", "fmla"),
        ("bool", "avx512", "vpternlogd"),
    ],
)
def test_show_types_and_isas_of_other_machines(
    dtype: str, isa: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["show", "ab,bc->ac", "--sizes", "a=9,b=20,c=33", "--dtype", dtype, "--isa", isa, "--what", "asm"]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Expression('ab,bc->ac', {dtype}") and word in text


def test_einsum_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["einsum", "ab, bc", "--sizes", "a=3,b=4 c=5", "--dtype", "float64", "--peers", "numpy", "--json"]
    assert main([*line, *INTERPRETED]) == 0
    report = json.loads(capsys.readouterr().out)
    (row,) = report["rows"]
    assert row["equation"] == "ab,bc->ac"
    assert row["flops"] == 2 * 3 * 4 * 5
    assert row["einloom"]["right"] is True
    assert row["einloom"]["rate"] > 0
    assert row["peers"]["numpy"]["ratio"] > 0


def test_einsum_measures_labels_that_other_libraries_do_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["einsum", "αβ,βγ->αγ", "--sizes", "α=3,β=4,γ=5", "--peers", "numpy", "--json"]
    assert main([*line, *INTERPRETED]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["equation"] == "αβ,βγ->αγ"
    assert row["einloom"]["right"] and row["peers"]["numpy"]["right"]


def test_einsum_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["einsum", "ab->ba", "--sizes", "a=3,b=4", "--peers", "", *INTERPRETED]) == 0
    text = capsys.readouterr().out
    assert "ab->ba   a=3 b=4   float32" in text
    assert "right: 12 elements compared with float64, exact" in text


@pytest.mark.parametrize(("what", "words"), [("tree", "t4 (2, 5) = "), ("nest", "gemm m="), ("asm", "vfmadd231ps")])
def test_show(capsys: pytest.CaptureFixture[str], what: str, words: str) -> None:
    line = ["show", "ab,bc,cd->ad", "--sizes", "a=2,b=9,c=12,d=5", "--isa", "avx2", "--threads", "1", "--what", what]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert text.startswith("Expression('ab,bc,cd->ad', float32")
    assert words in text


def test_complex_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["ab,bc->ac", "--sizes", "a=3,b=4,c=5", "--dtype", "complex64"]
    assert main(["show", *line, "--threads", "1"]) == 0
    assert "in0 complex64" in capsys.readouterr().out
    assert main(["einsum", *line, "--peers", "", *INTERPRETED]) == 0
    assert "right: 15 elements" in capsys.readouterr().out


@pytest.mark.parametrize(("dtype", "said"), [("int8", "right: 15 elements"), ("bool", "right: 15 elements")])
def test_other_types_are_compared(dtype: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["einsum", "ab,bc->ac", "--sizes", "a=3,b=4,c=5", "--dtype", dtype, "--peers", "numpy", *INTERPRETED]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert said in text and "numpy" in text


def test_a_peer_that_lacks_a_type_is_left_out_with_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ml_dtypes")
    case = ["--cases", "one matrix", "--dtype", "bfloat16", "--runs", "1", "--seconds", "0"]
    assert main(["bench", "reported", *case]) == 0
    text = capsys.readouterr().out
    assert "reported bfloat16" in text and "numpy: NumPy has no einsum of bfloat16" in text


@pytest.mark.parametrize("words", [["show", "ab->ba", "--sizes", "a=2,b=3"], ["info", "--measure"], ["info", "--peak"]])
def test_a_machine_without_kernels_is_an_error_of_this_machine(words: list[str]) -> None:
    line = [sys.executable, "-m", "einloom", *words]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "EINLOOM_ISA": "none"})
    assert done.returncode == 1
    assert done.stderr.startswith("einloom: UnsupportedTarget: ")
    assert "Traceback" not in done.stderr
    if host().has_vectors:
        assert f"{host().name} with EINLOOM_ISA='none' (unset it, or set {host().vector}" in done.stderr


def test_sizes_that_no_machine_holds_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    message = error_of(capsys, "einsum", "ab,bc->ac", "--sizes", "a=300000,b=400000000,c=5")
    assert message.startswith("einloom: ArgumentError: operands 437 TiB and 7.45 GiB, result 5.72 MiB of float32: this")
    assert message.endswith("free\n  ab,bc->ac\n  Give smaller sizes.\n")


def test_a_missing_size_is_pointed_at(capsys: pytest.CaptureFixture[str]) -> None:
    message = error_of(capsys, "einsum", "abc,cd->abd", "--sizes", "a=8,b=9,d=2")
    assert message == "einloom: ShapeError: no size for c\n  abc,cd->abd\n    ^\n  Add c=8 to --sizes.\n"


def test_an_unknown_size_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    message = error_of(capsys, "show", "ab->ba", "--sizes", "a=8,b=9,x=2")
    assert "a size for x, which the equation has not" in message
    assert "Its labels are a, b." in message


@pytest.mark.parametrize(
    ("equation", "words"),
    [("a...->a", "an ellipsis has no sizes"), ("ab->abz", "EquationError"), ("a1->a", "EquationError")],
)
def test_a_wrong_equation_is_no_traceback(capsys: pytest.CaptureFixture[str], equation: str, words: str) -> None:
    assert words in error_of(capsys, "einsum", equation, "--sizes", "a=8,b=9")


@pytest.mark.parametrize(
    ("sizes", "words"),
    [("a=8,b", "'b' is not label=number"), ("ab=8", "'ab=8' is not"), ("a=-1", "'a=-1' is not"), ("a=1,a=2", "twice")],
)
def test_sizes_that_cannot_be_read(capsys: pytest.CaptureFixture[str], sizes: str, words: str) -> None:
    assert words in usage_of(capsys, "einsum", "ab->ba", "--sizes", sizes)


def test_a_file_that_cannot_be_written_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["bench", "gemm_kernels", "--cases", "5x5x5", "--peers", "", "--runs", "1", "--seconds", "0"]
    assert main([*line, "--json", "x" * 300]) == 2
    assert f"File name too long: {'x' * 300}" in capsys.readouterr().err


def test_ctrl_c_is_no_traceback_while_a_command_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)
    assert main(["tune", "mk,kn->mn"]) == 130


def test_wrong_usage_is_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert "measure a suite beside other libraries" in usage_of(capsys)
    assert "invalid choice" in usage_of(capsys, "fly")
    assert "--sizes" in usage_of(capsys, "einsum", "ab->ba")
    assert "invalid choice: 'tccg25'" in usage_of(capsys, "bench", "tccg25")
    assert "--threads" in usage_of(capsys, "bench", "tccg24", "--threads", "0")
    assert "no peer 'jax'" in error_of(capsys, "bench", "permutations", "--peers", "jax")
    assert "5x5x5 is a case of float32" in error_of(
        capsys, "bench", "gemm_kernels", "--dtype", "complex64", "--cases", "5x5x5"
    )
    assert "no case of permutations" in error_of(capsys, "bench", "permutations", "--cases", "xyz")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    usage, _, explained = capsys.readouterr().out.partition("\n\n")
    assert f"einloom {command}" in usage
    assert not explained.startswith(("positional arguments:", "options:")), "say what the command does"
    assert COMMANDS[command][1] in make_parser([]).format_help().replace("\n", " ").replace("  ", "")


def test_python_m_einloom() -> None:
    line = [sys.executable, "-m", "einloom", "--version"]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == f"einloom {__version__}\n"


def test_a_command_imports_only_what_it_needs() -> None:
    code = "import sys; from einloom.cli import main; main(['info', '--json']); print(*sys.modules, file=sys.stderr)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert not {"rich", "opt_einsum", "einloom.space", "einloom.csp", "einloom.bench"} & set(modules)


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "many", ""])
@pytest.mark.parametrize("line", [["show", "ab->ba", "--sizes", "a=2,b=3"], ["space", "axpy", "--estimate", "knuth"]])
def test_a_count_is_a_whole_number_of_at_least_one(
    capsys: pytest.CaptureFixture[str], line: list[str], number: str
) -> None:
    option = "--threads" if line[0] == "show" else "--samples"
    assert f"{number!r} is no whole number of at least 1" in usage_of(capsys, *line, f"{option}={number}")


@pytest.mark.parametrize(
    "options", [["--leaf", "1"], ["--any-size"], ["--show", "nest", "--json"], ["--processes", "2"]]
)
def test_what_would_have_no_effect_on_a_space_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["space", "axpy", "n=64", *options]) != 0
    said = capsys.readouterr()
    assert said.out == "" and "\n  " in said.err


def test_processes_are_of_the_experiment_that_draws_samples(capsys: pytest.CaptureFixture[str]) -> None:
    line = ("paper", "table2", "--rows", "0", "--samples", "4", "--json")
    assert main(line) == 0
    alone = capsys.readouterr().out
    assert main([*line, "--processes", "2"]) == 0
    assert capsys.readouterr().out == alone
    assert "of table2" in error_of(capsys, "paper", "table3", "--rows", "0", "--processes", "2")
    for rows in ("x", "", "4", "-1", "0,,1"):
        assert "the tables have the rows 0, 1, 2, 3" in error_of(capsys, "paper", "table2", f"--rows={rows}")


def test_files_that_hold_no_text_are_no_candidates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "candidate.json").write_bytes(b"\xff\xfe\x00")
    assert "candidate" in error_of(capsys, "bound", "axpy", "--candidate", str(tmp_path / "candidate.json"))


def test_tuning_nothing_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Give an equation" in error_of(capsys, "tune", "--budget", "3")


def test_records_are_named_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    line = ("tune", "mk,kn->mn", "--sizes", "m=8,k=8,n=8", "--no-records", "--records", "here")
    assert "not allowed with" in usage_of(capsys, *line)


@pytest.mark.parametrize("option", ["--sizes=m=8", "--log=file", "--threads=2"])
def test_what_is_not_for_kernels_on_gpus_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = error_of(capsys, "tune", "--kernel", "axpy", "n=64", "--target", "opencl", option)
    assert f"{option.split('=')[0]} is not for --kernel" in error


@pytest.mark.parametrize(
    ("program", "folders", "called"),
    [
        (".venv/bin/einloom", "", ".venv/bin/einloom"),
        ("einloom/__main__.py", "", "python -m einloom"),
        ("/somewhere/bin/einloom", "bin", "einloom"),
    ],
)
def test_the_demo_names_the_command_as_a_shell_finds_it(
    program: str, folders: str, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "bin" / "einloom"
    command.parent.mkdir()
    command.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / folders) if folders else "")
    monkeypatch.setattr(sys, "argv", [program, "demo"])
    assert called_as() == called


@pytest.mark.parametrize(
    "words",
    [
        *(["--seconds", text] for text in ("nan", "inf", "-1", "soon")),
        *([option, text] for option in ("--json", "--plot") for text in ("nowhere/at/all.json", ".")),
    ],
)
def test_bench_refuses_what_would_be_lost_or_never_end_before_it_measures(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "small", "--cases", "ii-", "--peers", "", *words])
    assert ended.value.code == 2
    assert f"argument {words[0]}: {words[1]!r} " in capsys.readouterr().err
