/* The device types the server has; asked once, and again after it was away. */
import {getJson} from "./api.js";
import {onBack} from "./link.js";

let list = null;
onBack(() => (list = null));

/* [{filename, name, type, category}] */
export const deviceTypes = () => {
	list ??= getJson("/api/v1/resources").then((answer) => answer.data ?? []);
	list.catch(() => (list = null));
	return list;
};
export const categories = (types) => [...new Set(types.map((type) => type.category))];
