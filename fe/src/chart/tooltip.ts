/**
 * What hovering a chart shows. Built as elements with text content: names come from traces and are
 * hostile, and ECharts would read a string as markup.
 */
import { visibleText } from "../lib/visibleText";

export interface TooltipRow {
  readonly color: string;
  readonly name: string;
  readonly value: string;
}

/** @param titles What is hovered; what follows the first is set small: its full names. */
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
