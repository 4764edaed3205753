/** A form where a trace does not fit into memory: read only some of its steps, or some time of it. */
import { useState, type SyntheticEvent } from "react";

import { ApiError } from "../api/client";
import type { Failure } from "../api/types";
import { visibleText } from "../lib/visibleText";
import type { Target } from "../state/target";
import { FailureCard } from "../ui/stateCards";
import { readPart } from "./readPart";

/** Failures that a part of the recording may not have. */
const CODES = new Set(["out_of_memory", "worker_died", "no_room", "part_too_large", "no_such_part"]);

interface Props {
  readonly target: Target;
  readonly failure: Failure;
}

export function UnreadTrace({ target, failure }: Props) {
  return (
    <FailureCard title="This trace could not be read" file={target.span.file} failure={failure}>
      {CODES.has(failure.code) && <ReadPart target={target} />}
    </FailureCard>
  );
}

const UNITS = {
  only_steps: { label: "Iterations", example: "5:8" },
  only_us: { label: "Microseconds since the first event", example: "10000000:20000000" },
} as const;
type Unit = keyof typeof UNITS;

function ReadPart({ target }: { readonly target: Target }) {
  const [unit, setUnit] = useState<Unit>("only_steps");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const read = async (event: SyntheticEvent) => {
    event.preventDefault();
    setProblem(null);
    try {
      await readPart(target, { [unit]: text.trim() });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setProblem(error.failure.message);
    }
  };
  return (
    <form className="read-part" onSubmit={(event) => void read(event)}>
      <h3>Read only a part of it</h3>
      <p className="soft">Everything outside the part is in no figure. Slices that overlap its edges stay whole.</p>
      <p className="read-part-line">
        <select className="field" aria-label="Part by" value={unit} onChange={(event) => setUnit(event.target.value as Unit)}>
          {Object.entries(UNITS).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
        <input
          className="field mono"
          aria-label="Part"
          value={text}
          placeholder={`such as ${UNITS[unit].example}`}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button" disabled={text.trim() === ""}>
          Read this part
        </button>
      </p>
      {problem !== null && <p role="alert">{visibleText(problem)}</p>}
    </form>
  );
}
