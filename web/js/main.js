/* Builds the bar and shows the view that the address asks for. */
import {getJson} from "./api.js";
import {deviceView} from "./device.js";
import {h, setText} from "./dom.js";
import {fleetView} from "./fleet.js";
import {icon} from "./icons.js";
import {onBack} from "./link.js";
import {where} from "./router.js";
import {say} from "./say.js";
import {themeButton} from "./theme.js";
import {forgetToken, watchToken} from "./token.js";

const main = document.getElementById("main");
let shown = null; /* {key, update, end} */

const show = (first = false) => {
	const at = where();
	const key = `${at.view} ${at.id}`;
	if (shown?.key === key) {
		shown.update(at.query, history.state);
		return;
	}
	shown?.end.abort();
	const end = new AbortController();
	main.replaceChildren();
	const view = at.view === "device" ? deviceView : fleetView;
	shown = {key, end, update: view(main, at, history.state, end.signal)};
	window.scrollTo(0, 0);
	if (first) return;
	/* A new page in the same document: begin reading at its heading. */
	main.querySelector("h1")?.focus();
};

const forgetButton = () => {
	const button = h("button", {
		class: "button bare", type: "button", title: "Forget the API token",
		"aria-label": "Forget the API token", id: "forget",
	}, icon("key"));
	button.addEventListener("click", () => {
		forgetToken();
		say("Token forgotten");
	});
	watchToken((held) => (button.hidden = !held));
	return button;
};

document.getElementById("tools").append(forgetButton(), themeButton());
document.querySelector(".skip").addEventListener("click", (event) => {
	event.preventDefault();
	main.focus();
});
/* Fires for links, for typed hashes and for Back alike. */
window.addEventListener("popstate", () => show());
show(true);
const showVersion = () =>
	getJson("/api/v1/version")
		.then((answer) => setText(document.getElementById("version"), answer.version))
		.catch(() => {});
showVersion();
onBack(showVersion);
