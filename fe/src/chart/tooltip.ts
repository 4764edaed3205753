/**
 * The tooltip of a chart, built from elements with text content: names come from traces and may be hostile, and
 * ECharts would interpret a string as markup.
 */
import { visibleText } from "../lib/visibleText";

export interface TooltipRow {
  readonly color: string;
  readonly name: string;
  readonly value: string;
}

/** @param titles The title, and its full names in small print. */
export function tooltipElement([title = "", ...full]: readonly string[], rows: readonly TooltipRow[], footer: string | null): HTMLElement {
  const box = document.createElement("div");
  box.className = "chart-tip";
  box.append(textElement("strong", title), ...full.map((name) => textElement("small", name)));
  for (const row of rows) {
    const line = document.createElement("div");
    const swatch = document.createElement("i");
    swatch.className = "swatch";
    swatch.style.background = row.color;
    line.append(swatch, textElement("span", row.name), textElement("b", row.value));
    box.append(line);
  }
  if (footer !== null) box.append(textElement("small", footer));
  return box;
}

function textElement(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = visibleText(text);
  return element;
}
