/* A small curve of the last minutes. It only accompanies a number, so readers skip it. */
import {svg} from "./dom.js";

const WIDTH = 120, HEIGHT = 30, POINTS = 60;

export const sparkline = (kind = "") => {
	const values = [];
	const area = svg("path", {class: "spark-area"});
	const line = svg("path", {class: "spark-line"});
	const el = svg("svg", {
		class: `spark ${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
		"aria-hidden": "true",
	}, area, line);
	const draw = () => {
		const top = Math.max(...values, 1e-9);
		const step = WIDTH / (POINTS - 1), from = WIDTH - (values.length - 1) * step;
		const points = values.map((v, i) =>
			`${(from + i * step).toFixed(1)} ${(HEIGHT - 1 - (v / top) * (HEIGHT - 3)).toFixed(1)}`);
		const path = `M${points.join("L")}`;
		line.setAttribute("d", path);
		area.setAttribute("d", `${path}L${WIDTH} ${HEIGHT}L${from.toFixed(1)} ${HEIGHT}Z`);
	};
	const push = (value) => {
		values.push(value);
		if (values.length > POINTS) values.shift();
		draw();
	};
	return {el, push};
};
