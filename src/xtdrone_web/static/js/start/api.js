// Requests to the server of the start page, and small helpers for elements.

import { token } from "../socket.js";

const SAY_MS = 5000;
const given = token();
let saying = 0;

/** A refusal of the server: its text is one line; field names what it is about. */
export class Refusal extends Error {
  constructor(text, field) { super(text); this.field = field; }
}

/** The JSON answer of the server; throws a Refusal. */
export async function ask(path, { method = "GET", json, body } = {}) {
  const headers = given ? { Authorization: `Bearer ${given}` } : {};
  if (json !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: json === undefined ? body : JSON.stringify(json) });
  } catch { throw new Refusal("the server does not answer: is xtdrone web still running?", ""); }
  const said = await answer.json().catch(() => ({ error: `the server answers ${answer.status}`, field: "" }));
  if (!answer.ok || said.ok === false) throw new Refusal(said.error, said.field);
  return said;
}

/** An element: tag, properties (class, dataset, on..., aria...), children. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name === "dataset") Object.assign(made.dataset, value);
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** The link of this page, with the token that it was opened with. */
export const ownLink = () => `${location.origin}/${given ? `#token=${given}` : ""}`;

export const byId = (id) => document.getElementById(id);

/** Says something for a while. */
export function say(text, bad = false) {
  const toast = byId("toast");
  toast.textContent = text;
  toast.classList.toggle("bad", bad);
  toast.classList.add("on");
  clearTimeout(saying);
  saying = setTimeout(() => toast.classList.remove("on"), SAY_MS);
}

/** Runs what a control asks for; a refusal is said. */
export const tried = (work) => async (...args) => {
  try { return await work(...args); } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.message, true);
    return null;
  }
};

/** Arrow keys within a group of buttons of which one is chosen. */
export function arrows(group, role) {
  group.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (!(event.key in steps)) return;
    const all = [...group.querySelectorAll(`[role=${role}]`)].filter((each) => !each.hidden), at = all.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    const next = all[(at + steps[event.key] + all.length) % all.length];
    next.focus();
    next.click();
  });
}
