/** One click that opens Perfetto's own page with the cut; what it does stands beside it before. */
import { useState } from "react";

import { apiUrl, fetchBytes, type Query } from "../api/client";
import { saveUrl } from "../lib/download";
import { Popover } from "../ui/Popover";
import { ANSWER_MS, handOver, openPerfetto, type HandOver } from "./perfetto";

interface Props {
  /** What is cut out: the trace and the range, as `/perfetto` takes them. */
  readonly query: Query;
  readonly title: string;
  readonly fileName: string;
}

type State = "idle" | "working" | "blocked" | "failed" | HandOver;

const SAID: Readonly<Record<State, string>> = {
  idle: "",
  working: "Waiting for Perfetto's page …",
  handed: "Perfetto has it, in its own tab.",
  blocked: "The browser did not open a tab. Allow this page to open one, or download the cut and open it there.",
  failed: "The server did not give the cut. Try the download.",
  silent: `Perfetto's page did not answer within ${ANSWER_MS / 1000} s: there may be no way to it from here. Download the cut, and open it where there is.`,
  closed: "Perfetto's tab was closed, or the browser keeps it apart from this page. Download the cut and open it there.",
};

const NEEDS_DOWNLOAD: ReadonlySet<State> = new Set(["blocked", "failed", "silent", "closed"]);

export function OpenInPerfetto({ query, title, fileName }: Props) {
  const [state, setState] = useState<State>("idle");
  const url = apiUrl("perfetto", query);
  const onOpen = async () => {
    // Before anything is waited for: only the click itself may open a tab.
    const page = openPerfetto();
    if (page === null) {
      setState("blocked");
      return;
    }
    setState("working");
    try {
      setState(await handOver(page, { buffer: await fetchBytes(url), title, fileName }));
    } catch {
      setState("failed");
    }
  };
  return (
    <Popover label="Perfetto ▾" title="Open this range in Perfetto's own page">
      {() => (
        <div className="menu tl-perfetto">
          <p>Opens ui.perfetto.dev in a new tab; this range of the trace is handed to that page in your browser. Nothing is uploaded by this tool.</p>
          <button type="button" className="button" disabled={state === "working"} onClick={() => void onOpen()}>
            Open in Perfetto
          </button>
          <p role="status">{SAID[state]}</p>
          {NEEDS_DOWNLOAD.has(state) && (
            <button type="button" className="button" onClick={() => saveUrl(fileName, url)}>
              Download the cut
            </button>
          )}
        </div>
      )}
    </Popover>
  );
}
