// Put before everything else: remembers whatever the page complains about.
window.seen = [];
window.addEventListener("error", (event) => window.seen.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => window.seen.push(String(event.reason)));
for (const level of ["error", "warn"]) {
  const old = console[level];
  console[level] = (...parts) => {
    window.seen.push(parts.join(" "));
    old(...parts);
  };
}
