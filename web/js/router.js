/* Where the user is: the hash tells the view, its key and its query. */

/* "#/devices/ID" or "#/?q=…": {view: "device" | "fleet", id, query} */
export const where = () => {
	const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
	const device = /^\/devices\/([^/]+)$/.exec(path);
	const at = {view: "fleet", id: "", query: new URLSearchParams(query)};
	if (!device) return at;
	try {
		return {...at, view: "device", id: decodeURIComponent(device[1])};
	} catch {
		return at;
	}
};
export const deviceHref = (id) => `#/devices/${encodeURIComponent(id)}`;
const fleetHref = (query) => {
	const text = query.toString();
	return text ? `#/?${text}` : "#/";
};

/* Goes to another page of the table; state is what the browser's Back button finds again. */
export const pushFleet = (query, state) => history.pushState(state, "", fleetHref(query));
export const replaceFleet = (query, state) => history.replaceState(state, "", fleetHref(query));
