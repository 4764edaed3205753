/** The names of slices by their code: fetched in pages, in order of code, once for all tiles of a worker. */
import { ApiError, apiUrl, fetchJson, type Query } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import type { TimelineNamePageAnswer } from "../generated/schema";
import { NO_NAME, type TileNames } from "./tile";

/** Codes from `from` up to, excluding, `to` were requested: a name that the answer lacked does not exist. */
interface Fetched {
  readonly from: number;
  readonly to: number;
}

export class SliceNames {
  private readonly names = new Map<number, { readonly name: string; readonly short: string | null; readonly demangled: string | null }>();
  private readonly fetched: Fetched[] = [];
  /** Whether a request is under way. */
  isFetching = false;
  private readonly abort = new AbortController();

  /**
   * @param trace The trace whose names these are.
   * @param onNames Called when names have arrived.
   */
  constructor(
    private readonly trace: Query,
    private readonly onNames: () => void,
  ) {}

  /** Fills in the names that are known by now; returns whether there were any. */
  fill({ names, shortNames, demangledNames }: TileNames, codes: Uint32Array): boolean {
    let filled = false;
    names.forEach((name, row) => {
      const known = name === null ? this.names.get(codes[row] ?? NO_NAME) : undefined;
      if (known === undefined) return;
      names[row] = known.name;
      shortNames[row] = known.short;
      demangledNames[row] = known.demangled;
      filled = true;
    });
    return filled;
  }

  /** Requests the missing names, unless a request is under way: then call it again in `onNames`. */
  requestMissing(names: readonly (string | null)[], codes: Uint32Array): void {
    if (this.isFetching || this.abort.signal.aborted) return;
    let first = NO_NAME;
    names.forEach((name, row) => {
      const code = codes[row] ?? NO_NAME;
      if (name === null && code < first && !this.fetched.some(({ from, to }) => from <= code && code < to)) first = code;
    });
    if (first !== NO_NAME) void this.fetch(first);
  }

  close(): void {
    this.abort.abort();
  }

  private async fetch(from: number): Promise<void> {
    this.isFetching = true;
    try {
      const url = apiUrl("timeline/names", { ...this.trace, from });
      const page = await fetchUncached(url, fetchJson<TimelineNamePageAnswer>, { signal: this.abort.signal });
      page.codes.forEach((code, index) => this.names.set(code, { name: page.names[index] ?? "", short: page.short_names[index] ?? null, demangled: page.demangled_names[index] ?? null }));
      this.fetched.push({ from, to: page.next ?? NO_NAME });
    } catch (error) {
      // Without them slices are drawn without text.
      if (error instanceof ApiError || this.abort.signal.aborted) return;
      throw error;
    } finally {
      this.isFetching = false;
    }
    this.onNames();
  }
}
