// The tuning page's connection to its server: messages in, orders out. It has no frames and no clock.

import { token } from "../socket.js";

const RETRY_MS = 1000;

export class Link {
  /** handlers: by op of a message; lost(why) where the connection is lost or refused. */
  constructor(path, handlers) {
    this.url = `ws://${location.host}${path}`;
    this.handlers = handlers;
    this.waiting = new Map();
    this.number = 0;
    this.open();
  }

  open() {
    const socket = this.socket = new WebSocket(this.url);
    let refused = "";
    socket.onopen = () => socket.send(JSON.stringify({ op: "hello", token: token() }));
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.op === "answer") this.answered(message);
      else if (message.op === "refused") refused = message.error;
      else this.handlers[message.op]?.(message);
    };
    socket.onclose = () => {
      for (const { reject } of this.waiting.values()) reject(new Error("the connection was lost"));
      this.waiting.clear();
      this.handlers.lost(refused);
      if (!refused) setTimeout(() => this.open(), RETRY_MS);
    };
  }

  answered({ id, ok, error, ...answer }) {
    const { resolve, reject } = this.waiting.get(id) || {};
    this.waiting.delete(id);
    if (ok) resolve?.(answer);
    else reject?.(new Error(error));
  }

  /** Sends an order; the promise is that of its answer. */
  ask(op, values = {}) {
    if (this.socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error("there is no connection"));
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ op, id, ...values }));
    });
  }
}
