/** The colours of the theme in force, as the canvas needs them. */
export interface ChartColors {
  readonly text: string;
  readonly soft: string;
  readonly line: string;
  readonly surface: string;
  readonly accent: string;
  /** The value of any other CSS variable. */
  of: (variable: string) => string;
}

export function chartColors(): ChartColors {
  const style = getComputedStyle(document.documentElement);
  const of = (variable: string) => style.getPropertyValue(variable).trim();
  return {
    text: of("--text"),
    soft: of("--text-soft"),
    line: of("--line"),
    surface: of("--surface"),
    accent: of("--accent"),
    of,
  };
}
