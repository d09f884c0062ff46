// The connection to the simulation: frames and messages in, orders and sticks out.

import { keepBack } from "./back.js";

const TOKEN = "xtdrone-token";
const RETRY_MS = 1000;
const PING_MS = 500;
const CHANGED_MS = 2.5, SAME_MS = 20; // between sticks, at least

/** The token of the link, kept for this tab and taken out of the address bar. */
export function token() {
  const fragment = new URLSearchParams(location.hash.slice(1)), given = fragment.get("token");
  keepBack(fragment);
  if (given) {
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(TOKEN) || "";
}

/** One socket, which is opened again when it is lost. Without a layout no frames are sent to it. */
export class Connection {
  constructor(layout, handlers, given = token()) {
    this.given = given;
    this.layout = layout;
    this.handlers = handlers;
    this.pilot = false;
    this.offset = null; // of the server's clock to performance.now() [s]
    this.roundTrip = NaN; // [ms]
    this.frames = 0;
    this.sent = this.moved = -Infinity; // when the last sticks were read, and the last changed ones [ms]
    this.waiting = new Map();
    this.number = 0;
    this.open();
    setInterval(() => this.ping(), PING_MS);
  }

  open() {
    this.socket = new WebSocket(`ws://${location.host}/socket`);
    this.socket.binaryType = "arraybuffer";
    this.best = [];
    this.socket.onopen = () => {
      this.send({ op: "hello", ...(this.given ? { token: this.given } : {}), frames: Boolean(this.layout) });
    };
    this.socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.take(JSON.parse(data));
      else {
        const frame = this.layout.frame(data);
        if (frame) {
          this.frames++;
          this.handlers.frame(frame);
        } else this.handlers.past?.(this.layout.frames(data) || []);
      }
    };
    this.socket.onclose = () => {
      for (const { reject } of this.waiting.values()) reject(new Error("the connection was lost"));
      this.waiting.clear();
      this.handlers.lost(this.refused);
      if (!this.refused) setTimeout(() => this.open(), RETRY_MS);
    };
  }

  take(message) {
    if (message.op === "answer") {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (waiting) (message.ok ? waiting.resolve(message) : waiting.reject(new Error(message.error)));
    } else if (message.op === "pong") this.pong(message);
    else if (message.op === "refused") {
      this.refused = message.error;
      sessionStorage.removeItem(TOKEN);
    } else {
      if (message.op === "scene") this.pilot = message.pilot;
      (this.handlers[message.op] ?? this.handlers.other)?.(message);
    }
  }

  /** Whether nothing can be sent. */
  get silent() { return this.socket.readyState !== WebSocket.OPEN; }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Sends an order; the promise is that of its answer. */
  ask(op, values = {}) {
    if (this.silent) return Promise.reject(new Error("the simulation does not answer: nothing was sent"));
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ op, id, ...values });
    });
  }

  ping() {
    this.send({ op: "ping", t0: performance.now() / 1000 });
  }

  /** The offset of the clocks is that of the quickest of the last answers. */
  pong({ t0, t1 }) {
    const t2 = performance.now() / 1000;
    this.best.push([t2 - t0, t1 - (t0 + t2) / 2]);
    if (this.best.length > 20) this.best.shift();
    const [round, offset] = this.best.reduce((a, b) => (b[0] < a[0] ? b : a));
    this.roundTrip = 1000 * round;
    this.offset = offset;
  }

  /** Sends sticks, -1 to 1, that were read at a time of performance.now() [ms]: soon after a change, seldom without. */
  sticks(vehicle, { roll, pitch, yaw, throttle }, read) {
    if (this.socket.readyState !== WebSocket.OPEN || this.offset === null) return;
    const axes = [roll, pitch, yaw, 0.5 + 0.5 * throttle], changed = axes.some((x, k) => x !== this.axes?.[k]);
    if (changed ? read - this.moved < CHANGED_MS : read - this.sent < SAME_MS) return;
    if (this.socket.bufferedAmount > 4096) return; // the newest counts: none waits behind others
    const view = new DataView(new ArrayBuffer(28));
    view.setUint8(0, 1);
    view.setUint16(2, vehicle, true);
    axes.forEach((x, k) => view.setFloat32(4 + 4 * k, x, true));
    [this.axes, this.sent] = [axes, read];
    if (changed) this.moved = read;
    view.setFloat64(20, read / 1000 + this.offset, true);
    this.socket.send(view.buffer);
  }
}
