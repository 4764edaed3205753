/** The colours of the current theme, for canvases. */
export interface ChartColors {
  readonly text: string;
  readonly soft: string;
  readonly line: string;
  readonly surface: string;
  readonly accent: string;
  /** The value of any other CSS variable. */
  color: (variable: string) => string;
}

export function chartColors(): ChartColors {
  const style = getComputedStyle(document.documentElement);
  const color = (variable: string) => style.getPropertyValue(variable).trim();
  return {
    text: color("--text"),
    soft: color("--text-soft"),
    line: color("--line"),
    surface: color("--surface"),
    accent: color("--accent"),
    color,
  };
}
