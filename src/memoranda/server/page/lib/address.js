// Where the name of a view and its parameters stand: in the path and the query. In a file that was
// exported, `offline/address.js` stands in the place of this.

/** Return the name and the query of the address. */
export const readPlace = () => [location.pathname.slice(1), location.search];

export const addressOf = (name, query) => `/${name}${query ? "?" + query : ""}`;
