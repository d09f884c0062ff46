// Level of detail and render scale, as fast as the machine can.

const AIM_FPS = 32, TOP_FPS = 55, MIN = 0.5, WINDOW_MS = 700;
// Without a graphics card pictures take the cores that the sticks need: fewer while they fly.
const STICKS_FPS = 30, STICKS_AIM_FPS = 24;

export class Pace {
  constructor(app) {
    this.app = app;
    this.auto = true;
    this.level = 1;
    this.scale = Math.min(1.5, devicePixelRatio || 1);
    this.frames = 0;
    this.since = performance.now();
    this.fps = 0;
    this.calm = 0;
  }

  choose(value) {
    this.auto = value === "auto";
    if (!this.auto) {
      this.level = Number(value);
      this.scale = this.level === 0 ? Math.min(1, devicePixelRatio) : Math.min(2, devicePixelRatio || 1);
      this.app.setQuality();
    }
  }

  /** Whether the sticks come before pictures: they fly, and the machine is slow at drawing. */
  get sparing() { return this.app.steering && this.level === 0; }

  /** Whether a picture is to be drawn now. */
  due(now) {
    if (this.sparing && now - this.drawn < 1000 / STICKS_FPS - 2) return false;
    this.drawn = now;
    return true;
  }

  /** Counts a drawn frame; changes scale, then level, when they are too few or plenty. */
  tick(now) {
    this.frames++;
    if (now - this.since < WINDOW_MS) return;
    this.fps = (1000 * this.frames) / (now - this.since);
    this.frames = 0;
    this.since = now;
    this.app.publish("pace", `${this.fps.toFixed(0)} frames/s at ${Math.round(100 * this.scale / (devicePixelRatio || 1))} %, level ${this.level}`);
    if (!this.auto || document.hidden) return;
    const aim = this.sparing ? STICKS_AIM_FPS : AIM_FPS;
    if (this.fps < aim) this.slower(aim);
    else if (this.fps > TOP_FPS) this.faster();
    else this.calm = 0;
  }

  slower(aim) {
    this.calm = -6;
    if (this.level > 0) this.level--;
    else if (this.scale > MIN) this.scale = Math.max(MIN, this.scale * Math.max(0.7, this.fps / (aim + 4)));
    else return;
    this.app.setQuality();
  }

  faster() {
    if (++this.calm < 4) return; // some time without trouble, so that it does not swing
    this.calm = 0;
    const most = Math.min(2, devicePixelRatio || 1);
    if (this.scale < most) this.scale = Math.min(most, 1.2 * this.scale);
    else if (this.level < 2) this.level++;
    else return;
    this.app.setQuality();
  }
}
