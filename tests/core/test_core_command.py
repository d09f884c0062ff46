"""The `xtdrone` command: subcommands of rooms, one line for each error."""

import errno
import os
import subprocess
import sys

import pytest

from waiting import LIMIT_S
from xtdrone_core import XtdroneError, command, registry


class Entry:
    """An entry point whose module is a function here."""

    def __init__(self, name, run, fails=None):
        self.name, self._run, self._fails = name, run, fails
        self.loaded = 0

    def load(self):
        self.loaded += 1
        if self._fails:
            raise self._fails

        def register(subparsers):
            parser = subparsers.add_parser(self.name, help=f"help of {self.name}")
            parser.add_argument("--value", type=int)
            parser.add_argument("--word", choices=["one", "two"])
            parser.set_defaults(run=self._run)

        return register


def fails(error):
    def run(args):
        raise error

    return run


@pytest.fixture
def commands(monkeypatch):
    """commands(*entries) makes these the only subcommands."""

    def use(*entries):
        monkeypatch.setattr(
            registry, "entries", lambda group: {entry.name: entry for entry in entries}
        )

    return use


@pytest.mark.parametrize("returned, status", [(None, 0), (0, 0), (3, 3)])
def test_status_of_a_subcommand(commands, returned, status):
    commands(Entry("good", lambda args: returned))
    assert command.main(["good"]) == status


def test_only_the_named_room_is_loaded(commands):
    one, two = Entry("one", lambda args: 0), Entry("two", lambda args: 0)
    commands(one, two)
    command.main(["one"])
    assert (one.loaded, two.loaded) == (1, 0)


def test_help_lists_every_room(commands, capsys):
    commands(Entry("one", None), Entry("two", None))
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "help of one" in text and "help of two" in text and "examples:" in text


def test_an_action_shows_the_examples_of_its_command(commands, capsys):
    class Group(Entry):
        def load(self):
            def register(subparsers):
                parser = subparsers.add_parser(
                    "log", epilog="examples:\n  xtdrone log plot A  draw\n  xtdrone log info A"
                )
                parser.add_subparsers(metavar="ACTION").add_parser("plot")

            return register

    commands(Group("log", None))
    with pytest.raises(SystemExit):
        command.main(["log", "plot", "--help"])
    assert capsys.readouterr().out.endswith("examples:\n  xtdrone log plot A  draw\n")


@pytest.mark.parametrize(
    "error, status, line",
    [
        (XtdroneError("n = 0 is not allowed"), 1, "xtdrone: n = 0 is not allowed\n"),
        (KeyboardInterrupt(), 130, "xtdrone: stopped by you\n"),
        (
            OSError(errno.EROFS, "Read-only file system", "runs"),
            1,
            "xtdrone: cannot write 'runs': Read-only file system; give a folder that can be "
            "written and has room, by --out or XTDRONE_RUNS\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            1,
            "xtdrone: cannot write a file: No space left on device; give a folder that can be "
            "written and has room, by --out or XTDRONE_RUNS\n",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "x.yaml"),
            1,
            "xtdrone: 'x.yaml': No such file or directory\n",
        ),
    ],
)
def test_errors_are_one_line(commands, capsys, error, status, line):
    commands(Entry("bad", fails(error)))
    assert command.main(["bad"]) == status
    assert capsys.readouterr().err == line


def test_a_missing_package_is_named(commands, capsys):
    commands(Entry("slam", None, ModuleNotFoundError("no evo", name="evo")))
    assert command.main(["slam"]) == 1
    assert "needs the Python package 'evo'" in capsys.readouterr().err


def test_unknown_subcommand_suggests_the_nearest(commands, capsys):
    commands(Entry("sim", None))
    assert command.main(["sin"]) == 1
    assert "did you mean 'sim'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "xtdrone: the following arguments are required: COMMAND (sim); see 'xtdrone --help'"),
        (["sim", "--value", "x"], "xtdrone sim: argument --value: invalid int value: 'x'"),
        (
            ["sim", "--vlaue", "3"],
            "xtdrone sim: does not take '--vlaue'; did you mean '--value'? See "
            "'xtdrone sim --help'",
        ),
        (["sim", "more"], "xtdrone sim: does not take 'more'; see 'xtdrone sim --help'"),
        (
            ["sim", "--word", "tow"],
            "xtdrone sim: unknown word 'tow': choose one of one, two; did you mean 'two'?",
        ),
    ],
)
def test_bad_arguments_are_one_line(commands, capsys, words, said):
    commands(Entry("sim", lambda args: 0))
    with pytest.raises(SystemExit) as end:
        command.main(words)
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(said) and err.count("\n") == 1


@pytest.mark.parametrize(
    "words, instead",
    [
        (["vehicle", "show", "iris", "--png", "a.png"], "--out"),
        (["sim", "--no-log"], "--no_run_folder"),
    ],
)
def test_another_name_of_an_option_names_the_one(words, instead, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(words)
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert f"it is called '{instead}'" in err and err.count("\n") == 1


def test_a_reader_that_stops_is_no_error():
    code = (
        "from xtdrone_core import command; import sys\n"
        "class E:\n    name = 'talk'\n"
        "    def load(self):\n"
        "        return lambda s: s.add_parser('talk').set_defaults(\n"
        "            run=lambda a: [print('line ' * 99, flush=True)\n"
        "                           for _ in range(9999)] and 0)\n"
        "command.registry.entries = lambda group: {'talk': E()}\n"
        "sys.exit(command.main(['talk']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(LIMIT_S) == 0
    process.stderr.close()


def test_every_installed_entry_point_loads():
    entries = registry.entries(command.GROUP)
    assert {"sim", "fly", "control"} <= set(entries)
    for name, entry in entries.items():
        assert callable(entry.load()), name


@pytest.mark.long
@pytest.mark.parametrize(
    "line, offered",
    [
        ("xtdrone fly square --gps ", {"rtk", "m8n"}),
        ("xtdrone slam run --system bas", {"basalt"}),
        ("xtdrone params set MPC_XY_CRU", {"MPC_XY_CRUISE"}),
        ("xtdrone fly square --set s", {"side="}),
        ("xtdrone slam run --system klt --set k", {"keep="}),
        ("xtdrone slam run --system klt --limit ape_d", {"ape_deg="}),
        ("xtdrone slam record --trajectory ro", {"rounds"}),
        ("xtdrone fly formation --set scheme=consensus_", {"scheme=consensus_acceleration"}),
    ],
)
def test_completion_offers_names(tmp_path, line, offered):
    out = tmp_path / "words"
    subprocess.run(
        [sys.executable, "-m", "xtdrone"],
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE_STDOUT_FILENAME": str(out),
        },
    )
    assert set(out.read_text().split()) == offered
