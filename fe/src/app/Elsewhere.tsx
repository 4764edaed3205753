/** On the card of a page that has nothing to show: where what its files hold is shown. */
import { Fragment } from "react";

import type { ViewInfo } from "../api/types";
import { ViewLink } from "../ui/ViewLink";
import { pagesInstead } from "./pagesInstead";

interface Props {
  /** The view without data. */
  readonly name: string;
  readonly views: readonly ViewInfo[];
}

export function Elsewhere({ name, views }: Props) {
  const pages = pagesInstead(name, views);
  if (pages.length === 0) return null;
  return (
    <>
      See{" "}
      {pages.map((page, index) => (
        <Fragment key={page.name}>
          {index > 0 && ", "}
          <ViewLink view={page.name}>{page.title}</ViewLink>
        </Fragment>
      ))}
      .
    </>
  );
}
