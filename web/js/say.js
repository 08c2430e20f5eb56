/* Tells a screen reader what changed elsewhere on the page. */
export const say = (text) => {
	const region = document.getElementById("say");
	/* The same text twice would be silent. */
	region.textContent = region.textContent === text ? `${text}\u00a0` : text;
};
