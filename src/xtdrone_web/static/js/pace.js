// Level of detail and render scale, as fast as the machine can.

const AIM_FPS = 32, TOP_FPS = 55, LEAST = 0.5, WINDOW_MS = 700;

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

  /** Counts a drawn frame; changes scale, then level, when they are too few or plenty. */
  tick(now) {
    this.frames++;
    if (now - this.since < WINDOW_MS) return;
    this.fps = (1000 * this.frames) / (now - this.since);
    this.frames = 0;
    this.since = now;
    document.getElementById("fps").textContent = `${this.fps.toFixed(0)} frames/s at ${Math.round(100 * this.scale / (devicePixelRatio || 1))} %, level ${this.level}`;
    if (!this.auto || document.hidden) return;
    if (this.fps < AIM_FPS) this.slower();
    else if (this.fps > TOP_FPS) this.faster();
    else this.calm = 0;
  }

  slower() {
    this.calm = -6;
    if (this.level > 0) this.level--;
    else if (this.scale > LEAST) this.scale = Math.max(LEAST, this.scale * Math.max(0.7, this.fps / (AIM_FPS + 4)));
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
