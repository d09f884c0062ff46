"""Formations: XTDrone's own, generated ones of any size, files, and what is refused."""

import math

import numpy as np
import pytest

from xtdrone_formation import FormationError, names, separation, slots
from xtdrone_formation.declarations import Shape
from xtdrone_formation.formations import MIN_SLOT_SEPARATION, shaped


def as_set(offsets):
    return {tuple(row) for row in np.round(np.asarray(offsets, dtype=float), 6)}


def test_cube_of_nine_is_xtdrones():
    assert as_set(slots("cube", 9)) == {
        (x, y, z) for x in (-2, 2) for y in (-2, 2) for z in (-2, 2)
    }


def test_pyramid_of_nine_is_xtdrones():
    assert as_set(slots("pyramid", 9)) == {
        (x * k, y * k, -k) for k in (2, 4) for x in (-1, 1) for y in (-1, 1)
    }


def test_triangle_of_nine_is_xtdrones():
    rows = [(0, y, -2) for y in (-2, 0, 2)] + [(0, y, -4) for y in (-4, -2, 0, 2, 4)]
    assert as_set(slots("triangle", 9)) == set(rows)


def test_t_of_six_is_xtdrones():
    np.testing.assert_array_equal(
        slots("T", 6), [[4, 0, 0], [2, 0, 0], [2, 0, -2], [2, 0, -4], [2, 0, -6]]
    )


def test_sphere_of_eighteen_lies_on_xtdrones_sphere():
    points = np.vstack([np.zeros((1, 3)), slots("sphere", 18)])
    np.testing.assert_allclose(np.linalg.norm(points - [6, 0, 0], axis=1), 6.0)


def test_cuboid_of_eighteen_is_a_lattice_of_four_metres():
    lattice = {(x, y, z) for x in (0, 4, 8) for y in (0, 4) for z in (0, 4, 8)}
    assert as_set(slots("cuboid", 18)) == lattice - {(0, 0, 0)}


@pytest.mark.parametrize(
    "n, size", [(12, (2, 2, 3)), (25, (3, 3, 3)), (27, (3, 3, 3)), (64, (4, 4, 4))]
)
def test_a_cuboid_is_a_cube_where_the_vehicles_fill_one_to_the_last_row(n, size):
    block = np.vstack([np.zeros((1, 3)), slots("cuboid", n)])
    assert tuple(len(set(column)) for column in block.T) == size


@pytest.mark.parametrize("n, columns", [(6, 2), (9, 3), (18, 3)])
def test_origin_is_xtdrones_three_metre_grid(n, columns):
    grid = [(3.0 * (i % columns), 3.0 * (i // columns), 0.0) for i in range(1, n)]
    np.testing.assert_array_equal(slots("origin", n), grid)
    np.testing.assert_array_equal(slots("waiting", n), grid)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 9, 12, 18, 31, 50, 100, 250])
def test_every_formation_is_distinct_and_spaced(n):
    for name in names(n):
        offsets = slots(name, n)
        assert offsets.shape == (n - 1, 3)
        assert separation(offsets) >= MIN_SLOT_SEPARATION


@pytest.mark.parametrize("name", ["cube", "triangle", "sphere", "V", "grid"])
def test_spacing_scale_and_rotation(name):
    plain = slots(name, 20)
    assert separation(slots(name, 20, spacing=3.5)) == pytest.approx(3.5)
    np.testing.assert_allclose(slots(name, 20, scale=2.0), 2.0 * plain)
    turned = slots(name, 20, rotation=math.pi / 2)
    np.testing.assert_allclose(
        turned, np.stack([-plain[:, 1], plain[:, 0], plain[:, 2]], axis=1), atol=1e-12
    )


def test_a_shape_turns_by_degrees_and_scales():
    shape = Shape(spacing=3.0, scale=2.0, rotation=90.0)
    np.testing.assert_allclose(shaped("line", 3, shape), [[0, -6, 0], [0, -12, 0]], atol=1e-12)
    np.testing.assert_array_equal(shaped("cube", 9, Shape()), slots("cube", 9))


def test_formation_from_a_file(tmp_path):
    file = tmp_path / "two.csv"
    file.write_text("x,y,z\n2,0,0\n# a remark\n0,2.5,-1\n")
    np.testing.assert_array_equal(slots(str(file), 3), [[2, 0, 0], [0, 2.5, -1]])


@pytest.mark.parametrize(
    "text",
    [
        "x,y,z,,\n2,0,0,,\n0,2.5,-1,,\n,,,,\n",  # as spreadsheets save it
        "X, Y, Z\r\n2, 0, 0\r\n0, 2.5, -1",
        '"2","0","0"\n"0","2.5","-1"\n\n',
    ],
)
def test_tables_of_spreadsheets_are_read(tmp_path, text):
    (tmp_path / "two.CSV").write_text(text)
    np.testing.assert_array_equal(slots(str(tmp_path / "two.CSV"), 3), [[2, 0, 0], [0, 2.5, -1]])


def test_a_file_that_is_no_csv_is_told_so(tmp_path):
    (tmp_path / "slots.txt").write_text("0 0 1\n2 0 1\n")
    with pytest.raises(FormationError, match=r"slots.txt' is a file .* ends in .csv, with x,y,z"):
        slots(str(tmp_path / "slots.txt"), 3)


@pytest.mark.parametrize(
    "call, words",
    [
        (("cubee", 9), ["unknown formation 'cubee'", "did you mean 'cube'"]),
        (("cube", 5), ["'cube' does not fit 5", "9 or more", "pyramid"]),
        (("line", 0), ["n = 0", "2 or more"]),
        (("line", 5, -1.0), ["scale -1.0", "positive"]),
        (("cube", 9, 0.3), ["1.04 m apart", "1.5 m", "larger scale"]),
        (("line", 5, 1.0, (1, 2)), ["rotation", "finite angle"]),
        (("none.csv", 5), ["cannot read formation file", "No such file"]),
    ],
)
def test_what_is_refused_in_one_line(call, words):
    with pytest.raises(FormationError) as caught:
        slots(*call)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "text, n, words",
    [
        ("1,2\n", 2, ["row 1", "x,y,z"]),
        ("1,2,nan\n", 2, ["row 1"]),
        ("1;2;3\n", 2, ["row 1", "is '1;2;3'", "separated by semicolons", "by commas"]),
        ("1,5;2,0;3\n", 2, ["separated by semicolons"]),
        ("1\t2\t3\n", 2, ["separated by tabs"]),
        ("1,,3\n", 2, ["row 1", "x,y,z"]),
        ("2,0,0\n4,0,0\n", 9, ["2 rows", "9 vehicles", "8 followers"]),
        ("2,0,0\n2,0,0\n", 3, ["slot 1 and slot 2", "same position"]),
        ("0,0,0\n2,0,0\n", 3, ["the leader and slot 1", "same position"]),
        ("1,0,0\n", 2, ["1.00 m apart"]),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, text, n, words):
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    with pytest.raises(FormationError) as caught:
        slots(str(file), n)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
