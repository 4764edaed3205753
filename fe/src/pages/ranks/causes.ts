/** Causes of slow ranks as people say them. */

const TITLES: Readonly<Record<string, string>> = {
  slow_device: "Slow device",
  slow_host: "Slow host",
  slow_input: "Slow input",
  slow_link: "Slow link",
  uneven_work: "More work than others",
  pause: "Pause",
};

export function causeTitle(cause: string, detail: string): string {
  const title = TITLES[cause] ?? cause;
  return detail === "" ? title : `${title} (${detail})`;
}

/** In which steps it strikes. */
export function whenText(pattern: string, steps: string): string {
  if (pattern === "one step") return `Only in step ${steps}.`;
  return pattern === "steady" ? "In every step." : `${pattern.charAt(0).toUpperCase()}${pattern.slice(1)}: ${steps}.`;
}
