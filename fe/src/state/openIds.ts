/** What is open on a page (rows, evidence, folds), in the address without a history entry: Back finds it open again. */
import { adjust, useParams } from "./urlStore";

/** Ids are names from the trace: commas in them are escaped. */
export function formatIds(ids: ReadonlySet<string>): string {
  return [...ids].map((id) => id.replace(/[\\,]/g, "\\$&")).join(",");
}

export function parseIds(text: string): string[] {
  return [...text.matchAll(/((?:\\[^]|[^,\\])+)(?:,|$)/g)].map(([, id = ""]) => id.replace(/\\([^])/g, "$1"));
}

interface OpenInAddress {
  readonly isOpen: (id: string) => boolean;
  readonly setOpen: (id: string, open: boolean) => void;
}

/**
 * The open things of one kind.
 *
 * @param key Parameter of the address that lists them, such as `findings.open`; it belongs to the page, so that
 *   another page starts with nothing open.
 */
export function useOpenInAddress(key: string): OpenInAddress {
  const ids = new Set(parseIds(useParams()[key] ?? ""));
  return {
    isOpen: (id) => ids.has(id),
    setOpen: (id, open) => {
      if (open) ids.add(id);
      else ids.delete(id);
      adjust({ [key]: formatIds(ids) });
    },
  };
}
