// The gamepad in a frame of another origin, hence in a process of its own in which nothing is
// drawn: a picture that takes long does not hold up the sticks. The page says what is wanted, and
// gets what was read.

import { CENTRED, Gamepad } from "./gamepad.js";
import { Connection } from "./socket.js";

const READ_MS = 1, IDLE_MS = 30, TELL_MS = 30;
const NAMES = ["localhost", "127.0.0.1"]; // of this machine, by which the page may have been opened

class Pad {
  constructor() {
    this.gamepad = new Gamepad();
    this.sent = 0;
    addEventListener("message", (event) => this.take(event));
    parent.postMessage({ ready: true }, "*"); // says nothing but that it is there
    this.loop();
  }

  take({ data, origin, source }) {
    const { hostname, port } = new URL(origin);
    if (source !== parent || port !== location.port || !NAMES.includes(hostname)) return;
    this.wanted = data;
    this.origin = origin;
    this.connection ??= new Connection(null, { lost: () => {}, error: ({ error }) => this.tell({ error }) }, data.token);
  }

  tell(message) { parent.postMessage(message, this.origin); }

  read() {
    const now = performance.now(), found = this.gamepad.read(this.wanted);
    if (this.wanted.on && found) this.connection.sticks(this.wanted.vehicle, found.held ? found.values : CENTRED, now);
    if (found?.orders.length || now - this.sent >= TELL_MS) {
      this.sent = now;
      this.tell({ found });
    }
  }

  async loop() {
    for (;;) {
      if (this.wanted) this.read();
      await scheduler.postTask(() => {}, { delay: this.wanted?.on ? READ_MS : IDLE_MS, priority: "user-blocking" });
    }
  }
}

window.pad = new Pad(); // for tests and for the curious in the console
