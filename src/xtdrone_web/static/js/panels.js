// The panels at the side. Each is one module of panels/ that exports `panel`:
//   title, place    of its tab, and where that stands among the others, ascending
//   markup, style   HTML of its tab panel, CSS
//   overlay         HTML over the view (optional)
//   orders          what it asks of the server
//   pilot           true: dead for pages that may not command (optional)
//   available       of a scene: whether there is something to show (optional)
//   open            makes its object for an App
//   on              by topic: called with that object and the topic's values (optional)
// Topics: each message of the server by its op (status, event, laps, …); scene: connected again;
// frame: a new frame; past: frames before a jump; events: all events anew; animate: a picture is
// drawn; draw: now and then while the panel is shown; shown: it was opened; theme; pace.

const PHONE = 821; // narrower pages show no panel at first [px]
/** Whether the page is as narrow as a phone. */
export const narrow = () => innerWidth < PHONE;

const field = (id) => document.getElementById(id);

export class Panels {
  /** scripts: [name, address of its module] of each panel. */
  static async load(app, scripts) {
    const modules = await Promise.all(scripts.map(async ([name, script]) => ({ name, ...(await import(script)).panel })));
    return new Panels(app, modules.sort((a, b) => a.place - b.place));
  }

  constructor(app, panels) {
    this.app = app;
    this.all = panels;
    this.commanding = []; // boxes that are dead for pages that may not command
    this.opened = {}; // objects of those that are available, by name
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(panels.map(({ style }) => style || "").join("\n"));
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    for (const panel of panels) this.build(panel);
    field("hide").onclick = () => this.show(this.tab ? "" : this.last);
    field("tabs").onkeydown = (event) => this.key(event);
  }

  build({ name, title, markup, overlay, pilot, available }) {
    const button = document.createElement("button"), box = document.createElement("div");
    Object.assign(button, { textContent: title, id: `t-${name}`, hidden: Boolean(available && !available(this.app.scene)) });
    Object.assign(box, { id: `p-${name}`, innerHTML: markup, hidden: true });
    if (pilot) this.commanding.push(box);
    button.setAttribute("role", "tab");
    box.setAttribute("role", "tabpanel");
    button.setAttribute("aria-controls", box.id);
    box.setAttribute("aria-labelledby", button.id);
    button.onclick = () => this.show(this.tab === name && narrow() ? "" : name);
    field("tabs").append(button);
    field("panels").append(box);
    if (overlay) field("toast").insertAdjacentHTML("beforebegin", overlay);
  }

  /** Makes the objects of the available panels, and shows the first one. */
  open() {
    for (const { name, open } of this.available) this.opened[name] = open(this.app) ?? {};
    this.admit(this.app.scene.pilot);
    this.show(narrow() ? "" : this.available[0].name);
  }

  /** Panels that only command are closed to a page that may not. */
  admit(pilot) { for (const box of this.commanding) box.inert = !pilot; }

  get available() { return this.all.filter(({ name }) => !field(`t-${name}`).hidden); }

  /** Hands a topic's values to the panels that subscribe to it. */
  publish(topic, ...values) {
    for (const { name, on } of this.all) if (name in this.opened) on?.[topic]?.(this.opened[name], ...values);
  }

  /** Has the panel that is shown draw. */
  draw(frame) {
    if (this.tab in this.opened) this.all.find(({ name }) => name === this.tab).on?.draw?.(this.opened[this.tab], frame);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = this.available.map(({ name }) => name), next = names[(names.indexOf(this.tab) + step + names.length) % names.length];
    this.show(next);
    field(`t-${next}`).focus();
    event.stopPropagation();
  }

  /** Opens a panel by its name, "" for none. */
  show(tab) {
    this.tab = tab;
    this.last = tab || (this.last ?? this.available[0].name);
    field("hide").textContent = tab ? "×" : "«";
    field("hide").ariaLabel = tab ? "hide the tools" : "show the tools";
    document.body.classList.toggle("closed", !tab);
    for (const { name, on } of this.all) {
      field(`p-${name}`).hidden = name !== tab;
      field(`t-${name}`).setAttribute("aria-selected", String(name === tab));
      field(`t-${name}`).tabIndex = name === (tab || this.available[0].name) ? 0 : -1;
      if (name === tab && name in this.opened) on?.shown?.(this.opened[name]);
    }
  }
}
