// The binary frame of the socket, as frame.json describes it.

const READ = { f4: [4, "getFloat32"], f8: [8, "getFloat64"], u4: [4, "getUint32"], u1: [1, "getUint8"] };

function offsets(fields) {
  let at = 0;
  const found = {};
  for (const [name, kind, count, about] of fields) {
    found[name] = { at, kind, count, about };
    at += READ[kind][0] * count;
  }
  return [found, at];
}

/** The layout of frames; values are read where they are, without a copy of each vehicle. */
export class Layout {
  constructor(description) {
    this.magic = description.magic;
    this.past = description.past;
    [this.header, this.headerSize] = offsets(description.header);
    [this.vehicle, this.size] = offsets(description.vehicle);
  }

  /** A Frame of what came in, or null where it is none. */
  frame(buffer) {
    const view = new DataView(buffer);
    if (buffer.byteLength < this.headerSize || view.getUint32(0, true) !== this.magic) return null;
    return new Frame(this, view);
  }

  /** The Frames of a message that has several, or null where it is none. */
  frames(buffer) {
    const view = new DataView(buffer), found = [];
    if (buffer.byteLength < 4 || view.getUint32(0, true) !== this.past) return null;
    for (let at = 4; at + this.headerSize <= buffer.byteLength;) {
      const frame = new Frame(this, new DataView(buffer, at));
      found.push(frame);
      at += this.headerSize + frame.n * this.size;
    }
    return found;
  }
}

/** One frame: the state of the fleet at a time. */
export class Frame {
  constructor(layout, view) {
    this.layout = layout;
    this.view = view;
    this.n = view.getUint32(layout.header.n.at, true);
    this.t = view.getFloat64(layout.header.t.at, true);
    this.latency = [0, 1, 2, 3].map((k) => view.getFloat32(layout.header.latency.at + 4 * k, true));
    this.arrived = performance.now();
  }

  /** Value k of a field of vehicle i. */
  get(i, name, k = 0) {
    const field = this.layout.vehicle[name];
    const [bytes, read] = READ[field.kind];
    return this.view[read](this.layout.headerSize + i * this.layout.size + field.at + bytes * k, true);
  }

  /** The values of a field of vehicle i, into an array. */
  read(i, name, out) {
    const at = this.layout.headerSize + i * this.layout.size + this.layout.vehicle[name].at;
    for (let k = 0; k < out.length; k++) out[k] = this.view.getFloat32(at + 4 * k, true);
    return out;
  }
}

/** Roll, pitch, yaw [rad] of a quaternion xyzw; yaw counter-clockwise from east. */
export function euler([x, y, z, w]) {
  return [Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
    Math.asin(Math.max(-1, Math.min(1, 2 * (w * y - z * x)))),
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))];
}
