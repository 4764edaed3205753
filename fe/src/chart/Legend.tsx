/** Names and colours of the lines; a click shows or hides one. */
import { visibleText } from "../lib/visibleText";
import { lineColor } from "./options";
import type { ChartData } from "./types";

interface Props {
  readonly chart: ChartData;
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

export function Legend({ chart, hidden, onChange }: Props) {
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    onChange(next);
  };
  return (
    <div className="legend">
      {chart.lines.map(({ name }) => (
        <button
          key={name}
          type="button"
          className="button quiet"
          aria-pressed={!hidden.has(name)}
          title={visibleText(hidden.has(name) ? `Show ${name}` : `Hide ${name}`)}
          onClick={() => toggle(name)}
        >
          <i className="swatch" style={{ background: `var(${lineColor(chart, name)})` }} />
          {visibleText(name)}
        </button>
      ))}
    </div>
  );
}
