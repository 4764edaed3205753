/** The card below the tracks: a heading, what can be done, and a way to close it. */
import { useId, type ReactNode } from "react";

import { shortenMiddle } from "../lib/shorten";

interface Props {
  readonly title: string;
  /** All of it, where the heading shows a short form. */
  readonly fullTitle?: string;
  readonly onClose: () => void;
  /** Right behind the title. */
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

const MAX_TITLE = 140;

export function PanelFrame({ title, fullTitle = title, onClose, note, actions, children }: Props) {
  const id = useId();
  return (
    <section className="card tl-panel" aria-labelledby={id}>
      <header>
        <h2 id={id} className="tl-panel-title" title={fullTitle}>
          {shortenMiddle(title, MAX_TITLE)}
        </h2>
        {note}
        <span style={{ flex: 1 }} />
        {actions}
        <button type="button" className="button quiet icon" aria-label="Close" title="Close (Esc)" onClick={onClose}>
          ✕
        </button>
      </header>
      <div className="body">{children}</div>
    </section>
  );
}

export function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  );
}
