// A gamepad, read as the pilot has mapped and calibrated it.

const BUTTONS = { 0: "takeoff", 1: "land", 2: "rtl", 3: "POSCTL", 6: "disarm", 7: "arm" };
const DEAD_MAN = 4, DEAD_BAND = 0.04;

export const CENTRED = { roll: 0, pitch: 0, yaw: 0, throttle: 0 };
export const clip = (x) => Math.max(-1, Math.min(1, x));

/** An axis, -1 to 1, of a reading; least, most and centre are those that calibration found. */
function scaled(raw, [least, most, centre] = [-1, 1, 0]) {
  const x = (raw - centre) / Math.max(0.05, raw > centre ? most - centre : centre - least);
  return Math.abs(x) < DEAD_BAND ? 0 : clip((x - Math.sign(x) * DEAD_BAND) / (1 - DEAD_BAND));
}

export class Gamepad {
  constructor() { this.pressed = []; }

  /**
   * What the first gamepad says now, or null without one: its axes, the sticks' values, whether they count (held), and the orders of buttons that went down.
   */
  read({ mapping, ranges, deadman }) {
    const pad = [...(navigator.getGamepads?.() || [])].find(Boolean);
    if (!pad) return null;
    const held = !deadman || Boolean(pad.buttons[DEAD_MAN]?.pressed), values = { ...CENTRED }, orders = [];
    for (const [name, { axis, invert }] of Object.entries(mapping)) {
      const x = scaled(pad.axes[axis] ?? 0, ranges[axis]);
      values[name] = invert ? -x : x;
    }
    pad.buttons.forEach(({ pressed }, k) => { if (pressed && !this.pressed[k] && BUTTONS[k]) orders.push(BUTTONS[k]); this.pressed[k] = pressed; });
    return { axes: [...pad.axes], held, values, orders };
  }
}
