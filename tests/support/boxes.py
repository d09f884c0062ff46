"""Models for worlds, a box of 2 kg with sides of 0.5 m, and what tests do with them."""

BOX = """<sdf version="1.6"><model name="any">{}<link name="link">
<inertial><mass>2</mass><inertia><ixx>0.08</ixx><iyy>0.08</iyy><izz>0.08</izz></inertia></inertial>
<collision name="hull"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision>
</link>{}</model></sdf>"""
FREE, STATIC = BOX.format("", ""), BOX.format("<static>true</static>", "")


def step(simulation, seconds):
    """Steps a simulation for some time [s]."""
    for _ in range(round(seconds / 0.004)):
        simulation.step()


def state(simulation, name, frame=""):
    """State of a model or link, as of Entities.relative()."""
    entities = simulation.entities
    return entities.relative(entities.frame(name), frame)
