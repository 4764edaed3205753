/** The colour and name of a series in a legend; a click shows or hides it. */
import { useState, type ReactNode } from "react";

import { visibleText } from "../lib/visibleText";

export interface HiddenSeries {
  readonly hidden: ReadonlySet<string>;
  readonly toggle: (name: string) => void;
}

/** Which series of a picture are hidden; none at first. */
export function useHiddenSeries(): HiddenSeries {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  return { hidden, toggle };
}

interface Props {
  readonly name: string;
  /** The mark of the series: its colour, or its symbol. */
  readonly mark: ReactNode;
  readonly series: HiddenSeries;
  /** False where the name stands beside the button, as a link. */
  readonly named?: boolean;
}

export function SwatchToggle({ name, mark, series: { hidden, toggle }, named = true }: Props) {
  const action = visibleText(hidden.has(name) ? `Show ${name}` : `Hide ${name}`);
  return (
    <button type="button" className="swatch-toggle" aria-pressed={!hidden.has(name)} aria-label={named ? undefined : visibleText(name)} title={action} onClick={() => toggle(name)}>
      {mark}
      {named && visibleText(name)}
    </button>
  );
}

export function Swatch({ color }: { readonly color: string }) {
  return <i className="swatch" style={{ background: `var(${color})` }} />;
}
