/** The views. One that has nothing to show is greyed and says why; never missing without a word. */
import type { ViewInfo } from "../api/types";
import { ViewLink } from "./ViewLink";

interface Props {
  readonly views: readonly ViewInfo[];
  readonly current: string;
}

export function Rail({ views, current }: Props) {
  return (
    <nav className="rail" aria-label="Views">
      <ul>
        {views.map((view) => (
          <li key={view.name}>
            {view.available ? (
              <ViewLink view={view.name} isCurrent={view.name === current} title={view.help}>
                {view.title}
              </ViewLink>
            ) : (
              <span className="missing" aria-disabled="true" tabIndex={0} title={view.reason ?? "Nothing to show."}>
                {view.title}
              </span>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}
