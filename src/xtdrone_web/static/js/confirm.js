// Asks before an order that cannot be taken back.

const field = (id) => document.getElementById(id);

/** Whether a question about vehicles with these names is answered by its own words. */
export function confirmed(question, names) {
  const dialog = field("confirm");
  dialog.querySelector("h2").textContent = question;
  dialog.querySelector("p").textContent = names.join(", ");
  dialog.querySelector("[value=yes]").textContent = question.replace("?", "");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => { dialog.onclose = () => done(dialog.returnValue === "yes"); });
}
