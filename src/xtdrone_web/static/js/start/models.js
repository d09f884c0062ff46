// Own vehicles: an SDF with its meshes, a folder or a zip, by drag and drop or chosen.

import { ask, byId, Refusal } from "./api.js";

const MAX_MB = 64;

export class Models {
  /** taken(report) is called with the report on a model that the server has kept. */
  constructor(taken) {
    this.taken = taken;
    const drop = byId("drop");
    for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
    for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
    drop.addEventListener("drop", async (event) => { event.preventDefault(); this.send(await dropped(event.dataTransfer)); });
    byId("choosefiles").onclick = () => byId("modelfiles").click();
    byId("choosefolder").onclick = () => byId("modelfolder").click();
    for (const id of ["modelfiles", "modelfolder"]) {
      byId(id).onchange = (event) => { this.send([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file])); event.target.value = ""; };
    }
  }

  async send(files) {
    const says = byId("dropsays");
    says.className = "";
    if (!files.length) return;
    const bytes = files.reduce((sum, [, file]) => sum + file.size, 0);
    try {
      if (bytes > MAX_MB * 2 ** 20) throw new Refusal(`${Math.round(bytes / 2 ** 20)} MB are too much: at most ${MAX_MB} MB`, "");
      const body = new FormData();
      for (const [path, file] of files) body.append("file", file, path);
      says.textContent = `reading ${files.length} file${files.length > 1 ? "s" : ""} …`;
      const report = await ask(`/api/models/${encodeURIComponent(byId("modelname").value.trim() || nameOf(files))}`, { method: "POST", body });
      says.textContent = `kept as '${report.label}' in ${report.name}`;
      byId("modelname").value = "";
      await this.taken(report);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      says.className = "refusal";
      says.textContent = error.message;
    }
  }
}

/** The folder that all are in, or the name of the SDF or zip. */
function nameOf(files) {
  const [path] = files.find(([name]) => /\.(sdf|zip)$/i.test(name)) || files[0], top = path.split("/");
  return (top.length > 1 ? top[0] : path.replace(/\.[^.]*$/, "")).replace(/[^A-Za-z0-9_-]/g, "_").replace(/^[^A-Za-z0-9]+/, "").slice(0, 80) || "model";
}

/** The files of a drop, those of folders too: [path, File]. */
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => [file.name, file]);
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) { found.push([path, await new Promise((done, failed) => { entry.file(done, failed); })]); return; }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((done, failed) => { reader.readEntries(done, failed); });
      if (!some.length) return;
      for (const each of some) await walk(each, `${path}/${each.name}`);
    }
  };
  for (const entry of entries) await walk(entry, entry.name);
  return found;
}
