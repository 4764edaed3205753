/** Queries of one's own in SQL, over all tables of the recording. */
import { lazy, Suspense } from "react";

import { useAnswer } from "../api/hooks";
import type { SqlTablesAnswer } from "../generated/schema";
import { visibleText } from "../lib/visibleText";
import { CopyButton } from "../ui/CopyButton";
import { Skeleton } from "../ui/Skeleton";
import { FailureCard } from "../ui/stateCards";
import { PageHead } from "./PageHead";
import type { PageProps } from "./ViewFrame";

/** Loaded with the first visit. */
const SqlBody = lazy(async () => ({ default: (await import("./sql/SqlBody")).SqlBody }));

export function SqlPage({ info, target, views }: PageProps) {
  const listing = useAnswer<SqlTablesAnswer>("sql/tables", {});
  return (
    <div className="page">
      <PageHead info={info} views={views} />
      {listing.state === "failed" && <FailureCard title="The tables cannot be listed" failure={listing.failure} />}
      {listing.state === "ready" && listing.data.missing_reason !== null && <MissingPackage listing={listing.data} />}
      {listing.state === "ready" && listing.data.missing_reason === null ? (
        <Suspense fallback={<Skeleton>Loading the editor …</Skeleton>}>
          <SqlBody key={`${target.run.name} ${target.span.name}`} target={target} listing={listing.data} />
        </Suspense>
      ) : (
        (listing.state === "loading" || listing.state === "pending") && <Skeleton>Listing the tables …</Skeleton>
      )}
    </div>
  );
}

/** The engine is an extra of the package. */
function MissingPackage({ listing: { missing_reason: reason, missing_hint: command } }: { readonly listing: SqlTablesAnswer }) {
  return (
    <section className="card" aria-label="SQL is not installed">
      <header>
        <h2>SQL is not installed</h2>
      </header>
      <div className="body">
        <p>{visibleText(reason ?? "")} Install it where the server runs, then start the server again:</p>
        {command !== null && (
          <>
            <pre className="code">{visibleText(command)}</pre>
            <CopyButton text={command} label="Copy the command" />
          </>
        )}
      </div>
    </section>
  );
}
