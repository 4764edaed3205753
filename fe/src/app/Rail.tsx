/** The list of views. A view without data is greyed out, with the reason on hover. */
import { Fragment } from "react";

import type { ViewInfo } from "../api/types";
import { ViewLink } from "../ui/ViewLink";
import { railGroups } from "./railGroups";

interface Props {
  readonly views: readonly ViewInfo[];
  readonly current: string;
}

export function Rail({ views, current }: Props) {
  return (
    <nav className="rail" aria-label="Views">
      {railGroups(views).map(({ title, views: ofGroup }) => (
        <Fragment key={title}>
          {title !== null && <p className="rail-head">{title}</p>}
          <ul>
            {ofGroup.map((view) => (
              <li key={view.name}>
                <Entry view={view} isCurrent={view.name === current} />
              </li>
            ))}
          </ul>
        </Fragment>
      ))}
    </nav>
  );
}

function Entry({ view, isCurrent }: { readonly view: ViewInfo; readonly isCurrent: boolean }) {
  if (view.available) {
    return (
      <ViewLink view={view.name} isCurrent={isCurrent} title={view.help}>
        {view.title}
      </ViewLink>
    );
  }
  return (
    <span className="missing" aria-disabled="true" tabIndex={0} title={view.reason ?? "Nothing to show."}>
      {view.title}
    </span>
  );
}
