// Level of detail, render scale and pictures a second, as the machine can; the simulation comes first.

const AIM_FPS = 32, TOP_FPS = 55, MIN = 0.5, WINDOW_MS = 700;
// Without a graphics card pictures take the cores of the simulation and the sticks: no more than needed.
const PLAIN_FPS = 31, PLAIN_AIM_FPS = 28, BEHIND_FPS = 20, STICKS_AIM_FPS = 24;
const BEHIND = 0.97; // of the wanted speed: a slower simulation lacks processor time
const CALM = 4, CALMEST = 256; // windows without trouble before more is tried: twice as many after each try that failed

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
    this.patience = CALM;
  }

  choose(value) {
    this.auto = value === "auto";
    if (!this.auto) {
      this.level = Number(value);
      this.scale = this.level === 0 ? Math.min(1, devicePixelRatio) : Math.min(2, devicePixelRatio || 1);
      this.app.setQuality();
    }
  }

  /** Whether the machine is slow at drawing, as one without a graphics card. */
  get plain() { return this.level === 0; }

  /** Whether the sticks come before pictures: they fly, and the machine is slow at drawing. */
  get sparing() { return this.app.steering && this.plain; }

  /** Whether the simulation is slower than it should be, while pictures take processor time. */
  get behind() {
    const { paused, speed, factor } = this.app.status;
    return this.plain && !paused && speed > 0 && factor < BEHIND * speed;
  }

  /** Most pictures a second. */
  get most() { return !this.plain ? Infinity : this.behind && this.scale <= MIN ? BEHIND_FPS : PLAIN_FPS; }

  /** Whether a picture is to be drawn now. */
  due(now) {
    if (now - this.drawn < 1000 / this.most - 2) return false;
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
    const aim = this.sparing ? STICKS_AIM_FPS : this.plain ? PLAIN_AIM_FPS : AIM_FPS;
    if (this.fps < Math.min(aim, this.most - 2) || this.behind) this.slower(aim);
    else if (this.plain || this.fps > TOP_FPS) this.faster();
    else this.calm = 0;
  }

  slower(aim) {
    if (this.tried) this.patience = Math.min(CALMEST, 2 * this.patience);
    this.tried = false;
    this.calm = -6;
    if (this.level > 0) this.level--;
    else if (this.scale > MIN) this.scale = Math.max(MIN, this.scale * Math.max(0.7, Math.min(0.9, this.fps / (aim + 4))));
    else return;
    this.app.setQuality();
  }

  faster() {
    if (++this.calm < this.patience) return; // some time without trouble, so that it does not swing
    this.calm = 0;
    const most = Math.min(2, devicePixelRatio || 1), full = this.plain ? Math.min(1, most) : most;
    if (this.scale < full) this.scale = Math.min(full, 1.15 * this.scale);
    else if (this.level < 2) this.level++;
    else return;
    this.tried = true;
    this.app.setQuality();
  }
}
