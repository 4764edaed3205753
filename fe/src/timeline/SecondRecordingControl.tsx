/** Which other recording is drawn below this one, and which moments of both are one. */
import { useState } from "react";

import { visibleText } from "../lib/visibleText";
import { navigate, useParams } from "../state/urlStore";
import { formatRecording, formatZeros, parseRecording, parseZeros, type Recording } from "./secondRecording";

interface Props {
  readonly others: readonly Recording[];
  readonly onDone: () => void;
}

export function SecondRecordingControl({ others, onDone }: Props) {
  const { below, zeros } = useParams() as Record<string, string | undefined>;
  const shown = parseRecording(below);
  const [chosen, setChosen] = useState(shown === null ? "" : formatRecording(shown));
  const [ownZero, setOwnZero] = useState(parseZeros(zeros)[0] ?? "");
  const [otherZero, setOtherZero] = useState(parseZeros(zeros)[1] ?? "");
  if (others.length === 0) return null;
  // Times on screen count from the earlier of both: they change meaning.
  const apply = (recording: string) => {
    const next = parseZeros(`${ownZero},${otherZero}`);
    navigate({ below: recording === "" ? null : recording, zeros: recording === "" ? null : formatZeros(next), on: null, slice: null, at: null, range: null, open: null, shut: null, pin: null, order: null });
    onDone();
  };
  return (
    <form
      className="menu tl-second"
      onSubmit={(event) => {
        event.preventDefault();
        apply(chosen);
      }}
    >
      <label>
        Recording below this one
        <select className="field" value={chosen} onChange={({ target }) => setChosen(target.value)}>
          <option value="">None</option>
          {others.map((each) => (
            <option key={formatRecording(each)} value={formatRecording(each)}>
              {visibleText([each.run, each.worker, each.span].filter((name) => name !== "").join(" · "))}
            </option>
          ))}
        </select>
      </label>
      <Zero label="Zero of this one: step" value={ownZero} onChange={setOwnZero} />
      <Zero label="Zero of the other: step" value={otherZero} onChange={setOtherZero} />
      <small className="soft">Both zeros are drawn at one moment. Without a step it is the first event.</small>
      <span className="tl-stack-buttons">
        <button type="submit" className="button">
          Show
        </button>
        <button type="button" className="button" disabled={shown === null} onClick={() => apply("")}>
          Only this one
        </button>
      </span>
    </form>
  );
}

function Zero({ label, value, onChange }: { readonly label: string; readonly value: string; readonly onChange: (text: string) => void }) {
  return (
    <label>
      {label} <input className="field" inputMode="numeric" pattern="\d*" placeholder="first event" value={value} onChange={({ target }) => onChange(target.value)} />
    </label>
  );
}
