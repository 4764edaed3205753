/** The arguments of a slice: those of the trace at once, all of the file after it was read again. */
import { useState } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { RecordedArgumentPayload, SliceArgumentsAnswer, SlicePayload } from "../generated/schema";
import { formatNumber } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { CopyButton } from "../ui/CopyButton";
import { Fact } from "./PanelFrame";

import { argumentsOf } from "./sliceFacts";

/** A longer value is shortened to this at first. */
const FIRST_CHARS = 400;

interface Props {
  readonly trace: Query;
  readonly detail: SlicePayload;
}

export function SliceArguments({ trace, detail }: Props) {
  const shown = argumentsOf(detail);
  return (
    <section className="tl-arguments" aria-label="Arguments">
      {shown.length > 0 && (
        <dl className="facts">
          {shown.map(({ key, title, text }) => (
            <Fact key={key} title={title}>
              <span className="mono">{visibleText(text)}</span>
            </Fact>
          ))}
        </dl>
      )}
      <Recorded key={detail.id} trace={trace} id={detail.id} />
    </section>
  );
}

/** Further arguments in the file; all of them on demand. */
function Recorded({ trace, id }: { readonly trace: Query; readonly id: number }) {
  const [all, setAll] = useState(false);
  const answer = useAnswer<SliceArgumentsAnswer>(`slice/${id}/arguments`, trace);
  if (answer.state === "failed") return <p className="soft">{answer.failure.message}</p>;
  if (answer.state !== "ready" || answer.data.slice !== id) {
    return (
      <p className="soft" role="status">
        Reading the other arguments from the file …
      </p>
    );
  }
  const { arguments: recorded, count, problem } = answer.data;
  if (problem !== null) {
    return (
      <p className="soft" role="status">
        Other arguments are not available. {visibleText(problem.message)} {problem.hint}
      </p>
    );
  }
  const listed = all ? recorded : recorded.filter(({ in_model: isKnown }) => !isKnown);
  const hidden = recorded.length - listed.length;
  return (
    <>
      {listed.length > 0 && (
        <>
          <h3>{all ? "As in the file" : "Also in the file"}</h3>
          <dl className="facts">
            {listed.map((argument) => (
              <Fact key={argument.name} title={visibleText(argument.name)}>
                <Value argument={argument} />
              </Fact>
            ))}
          </dl>
        </>
      )}
      {count > recorded.length && <p className="soft">and {formatNumber(count - recorded.length)} more in the file</p>}
      {(hidden > 0 || all) && (
        <button type="button" className="button quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Only those not above" : `All ${formatNumber(recorded.length)} as in the file`}
        </button>
      )}
      {count === 0 && <p className="soft">The file has no arguments of this slice.</p>}
    </>
  );
}

/** A long value is shortened at first; a value that the server truncated says so. */
function Value({ argument: { text, chars } }: { readonly argument: RecordedArgumentPayload }) {
  const [whole, setWhole] = useState(false);
  if (text === null) {
    return (
      <span className="soft" title="Values that may be secret, or are longer than a million characters, are not shown. The downloaded file has them.">
        not shown
      </span>
    );
  }
  const isLong = text.length > FIRST_CHARS;
  return (
    <>
      <span className="mono">{visibleText(isLong && !whole ? `${text.slice(0, FIRST_CHARS)}…` : text)}</span>
      {isLong && (
        <button type="button" className="button quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : "More"}
        </button>
      )}
      {isLong && <CopyButton text={text} />}
      {chars > text.length && <span className="soft"> the first {formatNumber(text.length)} of {formatNumber(chars)} characters</span>}
    </>
  );
}
