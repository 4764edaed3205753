/** A placeholder for a loading page: a message and an outline. Shown only when loading takes a moment. */
import { useEffect, useState, type ReactNode } from "react";

/** Heights of the first blocks of a page: facts, findings, a chart. */
const BLOCKS_PX = [48, 160, 280];

interface Props {
  readonly children: ReactNode;
  /** Without the outline of a page: none may come, and what comes before it would push it down. */
  readonly alone?: boolean;
}

export function Skeleton({ children, alone = false }: Props) {
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
      {!alone && <Outline />}
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

/** A shorter delay is perceived as instant. */
const PATIENCE_MS = 100;

/** Whether loading takes so long that a placeholder helps: one that only flashes disturbs. */
function usePatience(): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isOver;
}
