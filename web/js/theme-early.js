/* Runs before the first paint, so that a chosen theme does not flash. Not a module for that. */
try {
	const theme = localStorage.getItem("nl6.theme");
	if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
	/* Storage may be forbidden; then the system's theme stays. */
}
