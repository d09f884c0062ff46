"""Names for the tuples that the scalar functions take and return."""

Vector = tuple[float, float, float]  # x, y, z
Quaternion = tuple[float, float, float, float]  # x, y, z, w
Symmetric = tuple[float, float, float, float, float, float]  # xx, yy, zz, xy, xz, yz
State = tuple[float, ...]  # 13 numbers of a rigid body, see rigid_body
# Result of an actuator's step: value, force xyz and moment xyz at the actuator, shaft power.
Acted = tuple[float, float, float, float, float, float, float, float]
