// A vehicle from its parts: frame, motors, propeller, battery, mass.

import { ask, byId, Refusal } from "./api.js";

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
      says.textContent = `${report.said} Kept as '${report.label}' in ${report.name}`;
      await this.taken(report);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      says.className = "refusal";
      says.textContent = error.message;
    } finally { button.disabled = false; }
  }
}
