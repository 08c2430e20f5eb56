/* The theme switch: as the system has it, light, dark. */
import {h} from "./dom.js";
import {icon, setIcon} from "./icons.js";
import {say} from "./say.js";

const KEY = "nl6.theme";
const order = ["auto", "light", "dark"];
const words = {auto: "as the system", light: "light", dark: "dark"};

export const themeButton = () => {
	const root = document.documentElement;
	const picture = icon("auto");
	const button = h("button", {class: "button bare", type: "button", id: "theme"}, picture);
	const show = () => {
		const theme = root.dataset.theme ?? "auto";
		const label = `Theme: ${words[theme]}`;
		button.title = label;
		button.setAttribute("aria-label", label);
		setIcon(picture, theme);
		return label;
	};
	button.addEventListener("click", () => {
		const theme = order[(order.indexOf(root.dataset.theme ?? "auto") + 1) % order.length];
		if (theme === "auto") delete root.dataset.theme;
		else root.dataset.theme = theme;
		try {
			localStorage.setItem(KEY, theme);
		} catch {
			/* Storage may be forbidden; then the choice lives as long as the page. */
		}
		say(show());
	});
	show();
	return button;
};
