/**
 * What hovering a chart shows. Built as elements with text content: names come from traces and are
 * hostile, and ECharts would read a string as markup.
 */
export interface TooltipRow {
  readonly color: string;
  readonly name: string;
  readonly value: string;
}

export function tooltipElement(title: string, rows: readonly TooltipRow[], footer: string | null): HTMLElement {
  const box = document.createElement("div");
  box.className = "chart-tip";
  box.append(textElement("strong", title));
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
  element.textContent = text;
  return element;
}
