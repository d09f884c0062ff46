// Heights of all vehicles, when a button is pressed.

class Heights {
  constructor(app) {
    this.app = app;
    this.frames = 0;
    document.getElementById("readheights").onclick = () => this.read();
  }

  async read() {
    const { heights } = await this.app.connection.ask("heights");
    document.getElementById("heights").textContent = heights.map((z) => `${z.toFixed(1)} ${this.app.scene.height_unit}`).join(", ");
  }
}

export const panel = {
  title: "Heights",
  place: 45,
  orders: ["heights"],
  markup: `<button id="readheights">Read</button><p id="heights"></p>`,
  style: `#heights { font-weight: 700; }`,
  open: (app) => new Heights(app),
  on: { frame: (heights) => { heights.frames++; } },
};
