/* Numbers for people. */
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});

export const count = (n) => whole.format(n);
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

const scaled = (n, step, units) => {
	let i = 0;
	while (n >= step && i < units.length - 1) {
		n /= step;
		i++;
	}
	return [short.format(n), units[i]];
};

/* 1234567 bytes: "1.18 MiB" */
export const bytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]).join(" ");
/* 2500000000 bits a second: "2.5 Gbit/s" */
export const bitRate = (n) =>
	scaled(n, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]).join(" ");
/* A rate for a small place: 12345 gives "12,345", 4.25 gives "4.3". */
export const rate = (n) => (n >= 10 || n === 0 ? whole.format(Math.round(n)) : n.toFixed(1));

/* 93784 seconds: "1 d 2 h" */
export const duration = (seconds) => {
	const s = Math.max(0, Math.floor(seconds));
	const d = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
	if (d > 0) return `${d} d ${hours} h`;
	if (hours > 0) return `${hours} h ${m} min`;
	if (m > 0) return `${m} min ${s % 60} s`;
	return `${s} s`;
};
