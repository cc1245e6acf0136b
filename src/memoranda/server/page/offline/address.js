// The address of a file stays, so a view and its parameters stand in its fragment.
const PLACE = /^#\/([a-z]*)(?:\?(.*))?$/;
let place = ["", ""];

/** Return the name and the query of the address; a fragment that names an element changes neither. */
export function readPlace() {
  const match = PLACE.exec(location.hash);
  if (match || !location.hash) place = [match?.[1] ?? "", match?.[2] ?? ""];
  return place;
}

export const addressOf = (name, query) => `#/${name}${query ? "?" + query : ""}`;
