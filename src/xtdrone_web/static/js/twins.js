// Two recordings in one view: a vehicle and its twin, the same one in the other recording.

export const APART = "distance to the other recording [m]";

/** Distance [m] of vehicle i and the one that it is compared with; NaN while not both were recorded. */
export function apart(frame, i, scene) {
  const vehicle = scene.vehicles[i], other = scene.replay?.other;
  const twin = vehicle.twin ?? scene.vehicles.findIndex((each) => each.twin === i);
  if (!other || !(twin >= 0) || frame.t < other.start || frame.t > other.end) return NaN;
  return Math.hypot(...[0, 1, 2].map((k) => frame.get(i, "pos", k) - frame.get(twin, "pos", k)));
}
