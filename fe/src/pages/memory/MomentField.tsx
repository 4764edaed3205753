/** The field with the shown moment, which is chosen on the curve or typed. */
import { useState, type SyntheticEvent } from "react";

import { formatValue } from "../../lib/format";

interface Props {
  /** Since the start of the recording. */
  readonly us: number;
  readonly bytes: number | null;
  /** Whether the user chose it; otherwise it is the peak. */
  readonly isChosen: boolean;
  readonly onChoose: (us: number | null) => void;
}

export function MomentField({ us, bytes, isChosen, onChoose }: Props) {
  const [problem, setProblem] = useState(false);
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get("moment");
    const moment = parseMoment(typeof text === "string" ? text : "");
    setProblem(moment === null);
    if (moment !== null) onChoose(moment);
  };
  return (
    <form key={us} className="alive-at no-print" onSubmit={submit} noValidate>
      <label>
        at <input className="field" name="moment" size={12} defaultValue={formatMs(us)} aria-invalid={problem} title="Milliseconds since the start of the recording; or 800 us, 1.2 s. Or click the curve." /> ms
      </label>
      <button type="submit" className="button">
        Show
      </button>
      {isChosen ? (
        <button type="button" className="button" onClick={() => onChoose(null)}>
          At the peak
        </button>
      ) : (
        <span className="soft">the peak</span>
      )}
      <span className="soft">{bytes === null ? "" : `${formatValue(bytes, "bytes")} allocated`}</span>
      {problem && (
        <span role="alert" className="bad">
          A time like 12.5 or 800 us
        </span>
      )}
    </form>
  );
}

const FACTORS: Readonly<Record<string, number>> = { "": 1e3, ms: 1e3, us: 1, µs: 1, s: 1e6 };

/** Microseconds; null when the text is not a time. */
export function parseMoment(text: string): number | null {
  const match = /^\s*([0-9]*[.,]?[0-9]+)\s*(ms|us|µs|s|)\s*$/.exec(text);
  if (match === null) return null;
  const factor = FACTORS[match[2] ?? ""];
  const value = Number((match[1] ?? "").replace(",", "."));
  return factor === undefined || !Number.isFinite(value) ? null : value * factor;
}

/** The text of the field: milliseconds with every significant digit. */
export function formatMs(us: number): string {
  return (us / 1e3).toFixed(6).replace(/\.?0+$/, "");
}
