/** Banners about what does not answer; the page below shows the last answer. */
import { useEffect, useState } from "react";

import { countdownText, outageText, type Outage } from "../api/outages";
import { visibleText } from "../lib/visibleText";

const TICK_MS = 1000;

export function Outages({ outages }: { readonly outages: readonly Outage[] }) {
  const nowMs = useNow(outages.length > 0);
  return (
    <div className="silences" role="status">
      {outages.map((outage) => (
        <div key={outage.location ?? ""} className="silence">
          <p>
            <strong>{visibleText(outageText(outage, nowMs))}</strong>
            {/* Changes every second: a screen reader would announce nothing else. */}
            <span role="timer" aria-live="off">
              {countdownText(outage, nowMs)}
            </span>
          </p>
          <p className="silence-cause">{visibleText(outage.cause)}</p>
        </div>
      ))}
    </div>
  );
}

/** The time, updated every second while `isTicking`. */
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
