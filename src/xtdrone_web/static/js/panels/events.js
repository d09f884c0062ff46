// What happened: texts of the vehicles, events of the simulation, refused orders.

const KEPT = 400, SHOWN = 120;
const field = (id) => document.getElementById(id);

class Events {
  constructor(app) {
    this.app = app;
    this.events = [];
    field("level").onchange = () => this.show();
  }

  /** A new event. */
  add(event) {
    this.events.push(event);
    if (this.events.length > KEPT) this.events.shift();
    if (this.app.panels.tab === "events") this.show();
  }

  /** All events anew: those before the page was opened, or before a jump of a recording. */
  replace(events) {
    this.events = events.slice(-KEPT);
    if (this.app.panels.tab === "events") this.show();
  }

  show() {
    const most = Number(field("level").value);
    const shown = this.events.filter(({ level }) => level <= most).slice(-SHOWN).reverse();
    field("noevents").hidden = shown.length > 0;
    field("events").replaceChildren(...shown.map(({ t, who, text, level }) => {
      const item = document.createElement("li"), words = document.createElement("span");
      item.className = `l${level}`;
      words.append(Object.assign(document.createElement("b"), { textContent: who ? `${who} ` : "" }), text);
      item.append(Object.assign(document.createElement("time"), { textContent: `${t.toFixed(1)} s` }), words);
      return item;
    }));
  }
}

export const panel = {
  title: "Events",
  place: 40,
  markup: `
    <div class="row wrap"><label>Show <select id="level"><option value="7">everything</option><option value="4">warnings</option><option value="3">errors</option></select></label></div>
    <p id="noevents" class="empty">Nothing has happened yet. Texts of the vehicles, crashes and refused orders are listed here.</p>
    <ol id="events" aria-live="polite"></ol>`,
  style: `
    #events { list-style: none; margin: 6px 0 0; padding: 0; max-height: 52vh; overflow: auto; scrollbar-width: thin; }
    #events li { border-top: 1px solid var(--line); padding: 5px 2px; display: grid; grid-template-columns: 4.6em 1fr; gap: 8px; overflow-wrap: anywhere; }
    #events time { color: var(--quiet); text-align: right; } #events b { font-weight: 600; }
    #events .l4 { color: var(--warn); } #events .l3, #events .l2, #events .l1, #events .l0 { color: var(--bad); }`,
  open: (app) => new Events(app),
  on: {
    event: (events, event) => events.add(event),
    events: (events, list) => events.replace(list),
    shown: (events) => events.show(),
  },
};
