/** The views. One that has nothing to show is greyed and says why; never missing without a word. */
import type { ViewInfo } from "../api/types";
import { goToView, useParams, viewHref } from "../state/urlStore";

interface Props {
  readonly views: readonly ViewInfo[];
  readonly current: string;
}

export function Rail({ views, current }: Props) {
  const params = useParams();
  return (
    <nav className="rail" aria-label="Views">
      <ul>
        {views.map((view) => (
          <li key={view.name}>
            {view.available ? (
              <a
                href={viewHref(params, view.name)}
                aria-current={view.name === current ? "page" : undefined}
                title={view.help}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  goToView(view.name);
                }}
              >
                {view.title}
              </a>
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
