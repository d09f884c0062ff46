"""What a data set may hold, and which scene is in which split."""

import pytest

from xtdrone_core import XtdroneError
from xtdrone_core.command import main
from xtdrone_perception.dataset.options import SPLITS, Options, read_options
from xtdrone_perception.errors import PerceptionError


@pytest.mark.parametrize(
    "given, said",
    [
        ({"classes": ("persn",)}, "did you mean 'person'"),
        ({"classes": ()}, "give some of person, car, vehicle"),
        ({"classes": ("car", "car")}, "give each once"),
        ({"images": 0}, "images 0: give a whole number from 1"),
        ({"frames": 2.5}, "give a whole number"),
        ({"width": 9000}, "from 16 to 4096"),
        ({"fov": 179.0}, "give a number from 5 to 150"),
        ({"fov": float("nan")}, "give a number from 5 to 150"),
        ({"worlds": ("strete",)}, "street"),
        ({"vehicles": ("irus",)}, "iris"),
        ({"rendering": "nice"}, "plain"),
        ({"weathers": ("rain=5",)}, "add --rendering realistic"),
        ({"weathers": ("hail",), "rendering": "realistic"}, "hail"),
        ({"times_of_day": ("25:00",), "rendering": "realistic"}, "25:00"),
        ({"lens": (0.1,)}, "k1,k2,p1,p2,k3"),
        ({"shares": (0.5, 0.1, 0.1)}, "with the sum 1"),
        ({"outputs": ("depht",)}, "depth"),
    ],
)
def test_what_is_refused(given, said):
    with pytest.raises(XtdroneError, match=said):
        Options(**given)


@pytest.mark.parametrize("scenes", [5, 20, 400])
def test_a_scene_is_in_one_split_whatever_the_number_of_images(scenes):
    few, many = Options(images=10 * scenes), Options(images=20 * scenes)
    splits = [few.split_of(scene) for scene in range(scenes)]
    assert splits == [many.split_of(scene) for scene in range(scenes)]
    for split, share in zip(SPLITS, few.shares):
        assert abs(splits.count(split) / scenes - share) < 0.15 + 1.0 / scenes
        assert splits.count(split) > 0


def test_the_last_scene_may_be_shorter():
    options = Options(images=25, frames=10)
    assert [options.frames_of(scene) for scene in range(options.scenes)] == [10, 10, 5]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(PerceptionError, match="not empty: give another --out"):
        Options().claim(tmp_path)
    with pytest.raises(PerceptionError, match="is no data set"):
        read_options(tmp_path)


def test_other_options_are_named_and_more_images_are_not(tmp_path):
    Options(seed=3).claim(tmp_path)
    with pytest.raises(PerceptionError, match=r"other options \(seed\)"):
        Options(seed=4).claim(tmp_path)
    Options(seed=3, images=2000).claim(tmp_path)
    assert read_options(tmp_path) == Options(seed=3, images=2000)


@pytest.mark.parametrize("words", ["nonsense: 1", "[1]", "lens: {a: 1}"])
def test_damaged_options_are_a_line(tmp_path, words):
    (tmp_path / "options.yaml").write_text(words)
    with pytest.raises(PerceptionError):
        read_options(tmp_path)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--size", "640"], "as in 640x480"),
        (["--lens", "a,b"], "give numbers, by commas"),
        (["--classes", "dog"], "unknown classes 'dog'"),
    ],
)
def test_the_command_says_what_is_wrong(capsys, tmp_path, arguments, said):
    assert main(["perception", "dataset", "--out", str(tmp_path / "d"), *arguments]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "d").exists()
