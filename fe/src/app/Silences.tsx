/** What does not answer, above what was known when it last did. */
import { useEffect, useState } from "react";

import { countdownText, silenceText, type Silence } from "../api/silences";
import { visibleText } from "../lib/visibleText";

const TICK_MS = 1000;

export function Silences({ silences }: { readonly silences: readonly Silence[] }) {
  const nowMs = useNow(silences.length > 0);
  return (
    <div className="silences" role="status">
      {silences.map((silence) => (
        <div key={silence.place ?? ""} className="silence">
          <p>
            <strong>{visibleText(silenceText(silence, nowMs))}</strong>
            {/* It changes every second: read out, nothing else could be heard. */}
            <span role="timer" aria-live="off">
              {countdownText(silence, nowMs)}
            </span>
          </p>
          <p className="silence-cause">{visibleText(silence.cause)}</p>
        </div>
      ))}
    </div>
  );
}

/** The time, every second while somebody looks at it. */
function useNow(isTicking: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return;
    const tick = () => setNowMs(Date.now());
    tick();
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return nowMs;
}
