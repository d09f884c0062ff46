// Vehicles of the form: the types to place, the map, and the table of what was placed.

import { arrows, byId, el, say } from "./api.js";
import { StartMap } from "./map.js";

const COLOURS = ["#ff8a3d", "#5aa9ff", "#4fd08a", "#e377c2", "#ffc24a", "#9d7bff", "#2bc4c4", "#ff6b6b", "#a8b545", "#c58b68"];
const GAP = 0.6; // two vehicles may not start closer [m]

export class Fleet {
  /** onChange is called after each change of the vehicles. */
  constructor(onChange) {
    this.vehicles = [];
    this.selected = -1;
    this.type = "iris";
    this.types = [];
    this.maximum = 250;
    this.onChange = onChange;
    this.map = new StartMap(byId("startmap"), this);
    byId("patterns").addEventListener("submit", (event) => { event.preventDefault(); this.pattern(new FormData(event.target, event.submitter)); });
    byId("fitmap").onclick = () => this.map.fit();
    byId("clearfleet").onclick = () => this.set([]);
    byId("typefilter").oninput = () => this.filter();
    arrows(byId("types"), "radio");
  }

  /** The types of the catalogue; pictures come one by one. */
  offer(types) {
    this.types = types;
    const group = byId("types"), had = new Map([...group.children].map((card) => [card.dataset.type, card]));
    for (const type of types) {
      const card = had.get(type.name) || this.card(type);
      had.delete(type.name);
      if (type.picture && !card.querySelector("img")) {
        card.querySelector(".nopicture").replaceWith(el("img", { src: `/picture/vehicle/${encodeURIComponent(type.label)}.jpg`, alt: "", loading: "lazy" }));
      }
      card.title = type.line;
      card.querySelector("small").textContent = short(type);
      if (!card.isConnected) group.append(card);
    }
    for (const gone of had.values()) gone.remove();
    this.choose(this.types.some(({ name }) => name === this.type) ? this.type : "iris");
    this.filter();
  }

  card(type) {
    return el("button", { type: "button", role: "radio", dataset: { type: type.name }, onclick: () => this.choose(type.name) },
      el("span", { class: "nopicture" }), el("b", {}, type.label), el("small"));
  }

  choose(name) {
    this.type = name;
    for (const card of byId("types").children) {
      const on = card.dataset.type === name;
      card.setAttribute("aria-checked", on);
      card.tabIndex = on ? 0 : -1;
    }
    const type = this.types.find((each) => each.name === name);
    if (type) byId("typeinfo").textContent = long(type);
  }

  filter() {
    const words = byId("typefilter").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const card of byId("types").children) {
      const type = this.types.find((each) => each.name === card.dataset.type);
      const text = type ? `${type.label} ${type.line} ${(type.sensors || []).join(" ")}`.toLowerCase() : "";
      card.hidden = !words.every((word) => text.includes(word));
    }
  }

  label(type) { return this.types.find((each) => each.name === type)?.label || type.split("/").at(-2) || type; }

  colour(type) {
    const i = [...new Set(this.vehicles.map((each) => each.type))].indexOf(type);
    return COLOURS[Math.max(0, i) % COLOURS.length];
  }

  /** Vehicles of a form that was loaded. */
  set(vehicles) {
    this.vehicles = vehicles.map(({ type, name, pos, yaw, autopilot }) => ({ type, name, pos: [...pos], yaw: yaw || 0, autopilot }));
    this.selected = this.vehicles.length - 1;
    this.changed();
    this.map.fit();
  }

  place(x, y, z = 0) {
    if (this.vehicles.length >= this.maximum) return say(`at most ${this.maximum} vehicles with a page`, true);
    this.vehicles.push({ type: this.type, pos: [x, y, z], yaw: 0 });
    this.select(this.vehicles.length - 1);
    return this.changed();
  }

  /** n vehicles as a grid, line or circle: in place of those that are there, or beside them. */
  pattern(data) {
    if (data.get("how") !== "add") this.vehicles = [];
    const n = Number(data.get("count")), spacing = Number(data.get("spacing")), shape = data.get("shape"), side = Math.ceil(Math.sqrt(n));
    const radius = n > 1 ? spacing / (2 * Math.sin(Math.PI / n)) : 0;
    const points = [...Array(n).keys()].map((k) => {
      if (shape === "circle") return [radius * Math.cos((2 * Math.PI * k) / n), radius * Math.sin((2 * Math.PI * k) / n)];
      return shape === "line" ? [k * spacing, 0] : [(k % side) * spacing, Math.floor(k / side) * spacing];
    });
    const near = (dx) => points.some(([x, y]) => this.vehicles.some(({ pos }) => Math.hypot(pos[0] - x - dx, pos[1] - y) < Math.max(GAP, spacing)));
    let dx = 0;
    while (near(dx)) dx += spacing;
    for (const [x, y] of points) this.place(Math.round((x + dx) * 100) / 100 + 0, Math.round(y * 100) / 100 + 0);
    this.map.fit();
  }

  select(i) {
    this.selected = i;
    [...byId("fleettable").tBodies[0].rows].forEach((row, k) => row.classList.toggle("on", k === i));
    this.map.draw();
  }

  remove(i) {
    if (!this.vehicles[i]) return;
    this.vehicles.splice(i, 1);
    this.selected = Math.min(i, this.vehicles.length - 1);
    this.changed();
  }

  changed() {
    byId("fleettable").tBodies[0].replaceChildren(...this.vehicles.map((vehicle, i) => this.row(vehicle, i)));
    this.map.draw();
    this.onChange();
  }

  row(vehicle, i) {
    const number = (value, what, take, most) => el("td", {}, el("input", { type: "number", step: "any", value, max: most, min: -most, "aria-label": `${what} of ${this.name(vehicle, i)}`,
      onchange: (event) => { take(Number(event.target.value)); this.changed(); } }));
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = this.colour(vehicle.type);
    const row = el("tr", { class: i === this.selected ? "on" : "" }, el("td", {}, swatch, el("span", { title: vehicle.type }, this.name(vehicle, i))),
      ...["east", "north", "up"].map((what, k) => number(vehicle.pos[k], what, (x) => { vehicle.pos[k] = x; }, 1e5)),
      number(Math.round((vehicle.yaw * 180) / Math.PI * 100) / 100, "yaw", (x) => { vehicle.yaw = (x * Math.PI) / 180; }, 5000),
      el("td", {}, el("button", { type: "button", "aria-label": `remove ${this.name(vehicle, i)}`, onclick: () => this.remove(i) }, "×")));
    row.addEventListener("focusin", () => this.select(i));
    row.addEventListener("click", () => this.select(i));
    return row;
  }

  name(vehicle, i) { return vehicle.name || `${this.label(vehicle.type)}_${i}`; }

  /** For the server. A name of the user's own is kept; the others count. */
  data() {
    return this.vehicles.map((vehicle, i) => ({ type: vehicle.type, name: named(this.name(vehicle, i), i), pos: vehicle.pos, yaw: vehicle.yaw, ...(vehicle.autopilot && { autopilot: vehicle.autopilot }) }));
  }

  summary() {
    const counts = new Map();
    for (const { type } of this.vehicles) counts.set(this.label(type), (counts.get(this.label(type)) || 0) + 1);
    return [...counts].map(([label, count]) => `${count} ${label}`).join(", ") || "no vehicle yet";
  }
}

/** A ROS name. One that ends in a number counts the vehicles, as they are now; others stay. */
function named(name, i) {
  const ros = name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^[^A-Za-z]+/, "") || "vehicle";
  return /_\d+$/.test(ros) ? ros.replace(/\d+$/, i) : ros;
}

const short = (type) => (type.error ? "refused" : type.mass_kg === undefined ? "…" : [mass(type.mass_kg), type.rotors ? `${type.rotors} rotors` : ""].filter(Boolean).join(", "));
const mass = (kg) => (kg < 1 ? `${Math.round(kg * 1000)} g` : `${kg < 20 ? kg.toFixed(2) : Math.round(kg)} kg`);

function long(type) {
  if (type.error) return type.error;
  if (type.mass_kg === undefined) return type.line;
  const parts = [mass(type.mass_kg), type.rotors ? `${type.rotors} rotors` : "no rotors", type.span_m ? `span ${type.span_m.toFixed(2)} m` : "",
    type.thrust_to_weight ? `thrust to weight ${type.thrust_to_weight.toFixed(2)}` : "", type.hover_time_min ? `hovers ${Math.round(type.hover_time_min)} min` : "",
    `sensors: ${(type.sensors || []).join(", ") || "none"}`, type.flies && type.flies !== "yes" ? `flies: ${type.flies}` : ""];
  return `${type.line} ${parts.filter(Boolean).join(" · ")}${(type.remarks || []).map((remark) => ` · ${remark}`).join("")}`;
}
