"""What rain, fog, blur, flare and lamps leave alone: depth, segmentation and plain images."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from test_realistic_images import AHEAD, SQUARE

from drawing import draws
from xtdrone_core import FleetState, VehicleSpec
from xtdrone_sim.rendering.realistic import passes
from xtdrone_sim.rendering.realistic.conditions import conditions_of
from xtdrone_sim.rendering.realistic.scene import RealisticScene
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.rendering.sensors import RenderedSensors
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

EFFECTS = {"lamps in rain": ("0:00", "rain=60"), "fog": ("12:00", "fog=20")}
SHOWN = [  # Fog changes what is drawn behind the lens, rain adds to the scene.
    pytest.param(name, marks=[pytest.mark.long] if name == "fog" else []) for name in EFFECTS
]
LENS = {
    "flare": 20.0,
    "bloom": 0.3,
    "vignetting": 1.0,
    "exposure_time": 0.05,
    "chromatic_aberration": 0.01,
    "exposure_value": 12.0,
}
PLACE = np.array([-3.0, -2.0, 1.2])


def frames(conditions=None, lens=()):
    """What a moving depth camera delivers in the hall: its depth and its image."""
    world, model = load_world("indoor"), load_vehicle("iris_depth")
    model = replace(
        model,
        sensors=tuple(
            replace(
                block, parameters={**block.parameters, **dict(lens), "width": 160, "height": 120}
            )
            if block.kind == "depth"
            else block
            for block in model.sensors
        ),
    )
    specs = [VehicleSpec("iris_depth", "v_0", (0.0, 0.0, 0.0))]
    make = (
        None
        if conditions is None
        else partial(RealisticScene, world, specs, [model], conditions_of(world, *conditions), 1)
    )
    sensors = RenderedSensors(world, specs, [model], 1, make)
    state = FleetState.zeros(1, 4)
    state.pos[0], state.vel[0], state.ang_vel[0] = PLACE, (4.0, 1.0, 0.0), (0.0, 0.5, 2.0)
    sensors.step(state, 0)
    (reading,) = sensors.step(state, 40_000)[:1]
    sensors.close()
    return reading.data


@pytest.mark.long
@draws
@pytest.mark.parametrize("effect", SHOWN)
def test_depth_and_plain_images_have_the_same_bytes_with_every_effect(effect):
    plain = frames()
    assert np.isfinite(plain["depth"]).mean() > 0.5 and plain["image"].std() > 10.0
    drawn = frames(EFFECTS[effect], LENS.items())
    assert drawn["depth"].tobytes() == plain["depth"].tobytes()
    assert drawn["image"].tobytes() != plain["image"].tobytes()
    again = frames(None, LENS.items())  # the lens is one of realistic images
    assert again["image"].tobytes() == plain["image"].tobytes()
    assert again["depth"].tobytes() == plain["depth"].tobytes()


def numbers(scene, drawn):
    """The segmentation of what `drawn` sees from PLACE: numbers of geoms."""
    pinhole = SQUARE(120, 120)
    scene.aim(drawn, PLACE, AHEAD[:, 0], AHEAD[:, 2], pinhole, 0.1, 100.0)
    return passes.numbers(drawn, scene.mjr_context, 120, 120)


@pytest.mark.long
@draws
@pytest.mark.parametrize("effect", SHOWN)
def test_segmentation_is_that_of_the_plain_scene_with_every_effect(effect):
    world = load_world("indoor")
    plain = RenderedScene(world, (), (), (120, 120))
    plain.open()
    expected = numbers(plain, plain.mjv_scene)
    plain.close()
    assert len(np.unique(expected)) > 5
    conditions = conditions_of(world, *EFFECTS[effect])
    scene = RealisticScene(world, (), (), conditions, 1, (120, 120))
    light = scene.luminance(PLACE, AHEAD, SQUARE(120, 120), 0.1)[0]
    assert light.std() > 0.0
    assert np.array_equal(numbers(scene, scene.wide_scene), expected)
    scene.close()
