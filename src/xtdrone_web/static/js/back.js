// The way back to the start page that has opened this one: its address is in the link's fragment.

const BACK = "xtdrone-back";

/** Keeps the address for this tab; to be called before the fragment is taken out of the address bar. */
export function keepBack(fragment) {
  const given = fragment.get("back");
  if (given && isNear(given)) sessionStorage.setItem(BACK, given);
}

/** Shows a link back, if there is one. */
export function backLink(link) {
  const address = sessionStorage.getItem(BACK);
  link.hidden = !address;
  if (address) link.href = address;
}

/** Whether an address is one of the machine that has served this page. */
function isNear(address) {
  try {
    const { protocol, hostname } = new URL(address);
    return protocol === "http:" && hostname === location.hostname;
  } catch { return false; }
}
