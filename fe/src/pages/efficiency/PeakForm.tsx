/** What the device can reach, where the server does not know it or the user knows better. */
import { useState, type SyntheticEvent } from "react";

import { BANDWIDTH, formatPeaks, TYPES, withPeak, type Peaks } from "./peak";

interface Props {
  readonly given: Peaks;
  readonly isUnknown: boolean;
  readonly onGive: (text: string | null) => void;
}

const FIELDS: readonly (readonly [string, string])[] = [...TYPES.map((type) => [type, `${type} (TFLOP/s)`] as const), [BANDWIDTH, "memory (GB/s)"]];

export function PeakForm({ given, isUnknown, onGive }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    let next: Peaks = given;
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
    onGive(next.size === 0 ? null : formatPeaks(next));
  };
  return (
    <details className="card peak-form no-print" open={isUnknown}>
      <summary>
        {given.size > 0 ? `Peaks given by you: ${formatPeaks(given)}` : isUnknown ? "The peaks of this device are not known: give them here" : "Other peaks than the vendor’s"}
      </summary>
      {/* Anew for each text of the address, so that its fields show it. */}
      <form key={formatPeaks(given)} className="body" onSubmit={submit} noValidate>
        {FIELDS.map(([key, title]) => (
          <label key={key}>
            <span>{title}</span>
            <input className="field" name={key} inputMode="decimal" defaultValue={given.get(key) ?? ""} />
          </label>
        ))}
        <span className="choices">
          <button type="submit" className="button">
            Use these
          </button>
          {given.size > 0 && (
            <button type="button" className="button" onClick={() => onGive(null)}>
              Back to the vendor’s
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
