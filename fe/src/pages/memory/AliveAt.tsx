/** Which moment is looked at: chosen on the curve, or typed. */
import { useState, type SyntheticEvent } from "react";

import { formatValue } from "../../lib/format";
import { formatMs, parseMoment } from "./moment";

interface Props {
  /** Since the start of the recording. */
  readonly us: number;
  readonly bytes: number | null;
  /** Whether somebody chose it; else it is the peak. */
  readonly isChosen: boolean;
  readonly onChoose: (us: number | null) => void;
}

export function AliveAt({ us, bytes, isChosen, onChoose }: Props) {
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
        at <input className="field" name="moment" size={12} defaultValue={formatMs(us)} aria-invalid={problem} title="Milliseconds since the start of the recording; or 800 us, 1.2 s. A click on the curve chooses too." /> ms
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
