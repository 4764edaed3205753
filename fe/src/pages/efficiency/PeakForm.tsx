/** The form for peak values of the device that are unknown, or that the user knows better. */
import { useState, type SyntheticEvent } from "react";

import { BANDWIDTH, formatPeaks, TYPES, withPeak, type Peaks } from "./peak";

interface Props {
  readonly peaks: Peaks;
  readonly isUnknown: boolean;
  readonly onChange: (text: string | null) => void;
}

const FIELDS: readonly (readonly [string, string])[] = [...TYPES.map((type) => [type, `${type} (TFLOP/s)`] as const), [BANDWIDTH, "memory (GB/s)"]];

export function PeakForm({ peaks, isUnknown, onChange }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    let next: Peaks = peaks;
    for (const [key, title] of FIELDS) {
      const text = data.get(key);
      const changed = withPeak(next, key, typeof text === "string" ? text : "");
      if (changed === null) {
        setProblem(`${title} has to be a number above 0.`);
        return;
      }
      next = changed;
    }
    setProblem(null);
    onChange(next.size === 0 ? null : formatPeaks(next));
  };
  return (
    <details className="card peak-form no-print" open={isUnknown}>
      <summary>
        {peaks.size > 0 ? `Your peak values: ${formatPeaks(peaks)}` : isUnknown ? "The peak values of this device are unknown: enter them here" : "Use different peak values"}
      </summary>
      {/* Remounted when the address changes, so that the fields show it. */}
      <form key={formatPeaks(peaks)} className="body" onSubmit={submit} noValidate>
        {FIELDS.map(([key, title]) => (
          <label key={key}>
            <span>{title}</span>
            <input className="field" name={key} inputMode="decimal" defaultValue={peaks.get(key) ?? ""} />
          </label>
        ))}
        <span className="choices">
          <button type="submit" className="button">
            Apply
          </button>
          {peaks.size > 0 && (
            <button type="button" className="button" onClick={() => onChange(null)}>
              Use the vendor’s values
            </button>
          )}
        </span>
        {problem !== null && (
          <p role="alert" className="bad">
            {problem}
          </p>
        )}
      </form>
    </details>
  );
}
