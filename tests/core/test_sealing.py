"""The public classes refuse attributes that they do not have, so that no setting is lost."""

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core import Scenario, SetPoints
from xtdrone_core.sealing import sealed
from xtdrone_sim.simulation import Simulation


@sealed
class Lamp:
    shade = "white"

    def __init__(self, power=1.0):
        self.power = power
        self._hours = 0

    @property
    def light(self):
        return self.power

    @light.setter
    def light(self, value):
        self.power = value


class Torch(Lamp):
    def __init__(self):
        super().__init__(2.0)
        self.battery = 1.0


def test_what_exists_can_be_set_and_nothing_else():
    lamp = Lamp()
    lamp.power, lamp.shade, lamp.light, lamp._lit = 3.0, "red", 4.0, True
    assert (lamp.power, lamp.shade) == (4.0, "red")
    with pytest.raises(AttributeError, match=r"attribute of Lamp 'ligth'.*light, power.*'light'"):
        lamp.ligth = 1.0


def test_a_class_that_inherits_has_attributes_of_its_own():
    torch = Torch()
    torch.colour = "green"
    assert (torch.battery, torch.power, torch.colour) == (1.0, 2.0, "green")


def refused(thing, name):
    with pytest.raises(AttributeError, match=name):
        setattr(thing, name, 1)


def test_set_points_refuse_a_misspelt_level():
    wish = SetPoints.empty(2)
    wish.vel[:] = 1.0
    refused(wish, "velocity")
    assert np.isnan(wish.pos).all()


@pytest.mark.slow
def test_simulations_refuse_what_they_do_not_have():
    with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        refused(sim, "on_reading")
        with pytest.raises(AttributeError, match="did you mean 'on_sensor'"):
            sim.on_sensors = print
    lockstep = Simulation(Scenario("iris", speed=0.0), links=False)
    refused(lockstep, "on_reading")
    lockstep.close()
    batch = xd.BatchSimulation("iris", 2)
    refused(batch, "environment")
