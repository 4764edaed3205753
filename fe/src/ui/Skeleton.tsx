/** Where a page will be: a word on what happens, and its outline. Nothing for what is there at once. */
import { useEffect, useState, type ReactNode } from "react";

/** Heights of what pages begin with: facts, findings, a chart. */
const BLOCKS_PX = [48, 160, 280];

export function Skeleton({ children }: { readonly children: ReactNode }) {
  const isLate = usePatience();
  if (!isLate) return null;
  return (
    <div className="page" aria-busy="true">
      {typeof children === "string" ? (
        <p className="soft" role="status">
          {children}
        </p>
      ) : (
        children
      )}
      <Outline />
    </div>
  );
}

export function Outline() {
  return (
    <div className="outline" aria-hidden="true">
      {BLOCKS_PX.map((height) => (
        <i key={height} style={{ height }} />
      ))}
    </div>
  );
}

/** What is answered sooner seems to come at once. */
const PATIENCE_MS = 100;

/** Whether it has taken so long that it is worth a word: what only flashes is noise. */
function usePatience(): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isOver;
}
