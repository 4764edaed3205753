/** A link to a view: a click stays in the page, a click with a modifier key opens another tab. */
import type { ReactNode } from "react";

import type { Params } from "../state/address";
import { goToView, useParams, viewHref } from "../state/urlStore";

interface Props {
  readonly view: string;
  /** Parameters of that view; those of the frame stay unless they are set here. */
  readonly params?: Params;
  readonly title?: string;
  readonly className?: string;
  readonly isCurrent?: boolean;
  /** Called after a click that stays in the page. */
  readonly onGo?: () => void;
  readonly children: ReactNode;
}

const NOTHING: Params = {};

export function ViewLink({ view, params = NOTHING, title, className, isCurrent = false, onGo, children }: Props) {
  const current = useParams();
  return (
    <a
      href={viewHref(current, view, params)}
      title={title}
      className={className}
      aria-current={isCurrent ? "page" : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        goToView(view, params);
        onGo?.();
      }}
    >
      {children}
    </a>
  );
}
