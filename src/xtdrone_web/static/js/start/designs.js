// A vehicle from its parts: frame, motors, propeller, battery, mass.

import { ask, byId, Refusal } from "./api.js";

/** The name of the next try: hawk, hawk_2, hawk_3. */
function next(name) {
  const [, stem, number] = name.match(/^(.*?)(?:_(\d+))?$/);
  return `${stem}_${Number(number || 1) + 1}`;
}

export class Designs {
  /** taken(report) is called with the report on a model that the server has made. */
  constructor(taken) {
    this.taken = taken;
    byId("design").addEventListener("submit", (event) => { event.preventDefault(); this.make(new FormData(event.target)); });
  }

  async make(data) {
    const says = byId("designsays"), button = byId("makedesign"), { name, ...parts } = Object.fromEntries(data);
    says.className = "";
    says.textContent = "making it …";
    button.disabled = true;
    try {
      const report = await ask(`/api/designs/${encodeURIComponent(name.trim())}`, { method: "POST", json: parts });
      await this.taken(report);
      says.textContent = `${report.said} '${report.label}' is the type to place now: click the map, or Place. It is kept in ${report.name}`;
      byId("design").elements.name.value = next(report.label);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      says.className = "refusal";
      says.textContent = error.message;
    } finally { button.disabled = false; }
  }
}
