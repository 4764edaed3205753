/** How wide the parts of a whole are drawn when some of them are hidden. */
interface Part {
  readonly name: string;
  readonly pct: number | null;
}

/** Percent of the bar by name: the shares of the whole, or with some hidden those of what is shown. */
export function shownWidths(parts: readonly Part[], hidden: ReadonlySet<string>): ReadonlyMap<string, number> {
  const shown = parts.filter(({ name }) => !hidden.has(name));
  const sum = shown.reduce((total, { pct }) => total + (pct ?? 0), 0);
  const scale = hidden.size === 0 || sum <= 0 ? 1 : 100 / sum;
  return new Map(shown.map(({ name, pct }) => [name, (pct ?? 0) * scale]));
}
