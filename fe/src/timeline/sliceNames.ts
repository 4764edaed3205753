/** The names of slices by their code: fetched in pages, in order of code, once for all tiles of a worker. */
import { askFor } from "../api/answers";
import { ApiError, apiUrl, fetchJson, type Query } from "../api/client";
import type { TimelineNamePageAnswer } from "../generated/schema";
import { NO_NAME, type TileNames } from "./tile";

/** Codes from `from` up to, not with, `to` were asked for: a name that did not come then never will. */
interface Fetched {
  readonly from: number;
  readonly to: number;
}

export class SliceNames {
  private readonly names = new Map<number, { readonly name: string; readonly short: string | null; readonly demangled: string | null }>();
  private readonly fetched: Fetched[] = [];
  /** Whether a question is under way. */
  isAsking = false;
  private readonly leave = new AbortController();

  /**
   * @param trace Whose names.
   * @param onNames Some have come.
   */
  constructor(
    private readonly trace: Query,
    private readonly onNames: () => void,
  ) {}

  /** Puts in the names that are known by now; returns whether there were any. */
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

  /** Asks for the names that are missing, unless a question is under way: then `onNames` is the time to ask again. */
  want(names: readonly (string | null)[], codes: Uint32Array): void {
    if (this.isAsking || this.leave.signal.aborted) return;
    let first = NO_NAME;
    names.forEach((name, row) => {
      const code = codes[row] ?? NO_NAME;
      if (name === null && code < first && !this.fetched.some(({ from, to }) => from <= code && code < to)) first = code;
    });
    if (first !== NO_NAME) void this.ask(first);
  }

  close(): void {
    this.leave.abort();
  }

  private async ask(from: number): Promise<void> {
    this.isAsking = true;
    try {
      const url = apiUrl("timeline/names", { ...this.trace, from });
      const page = await askFor(url, fetchJson<TimelineNamePageAnswer>, { signal: this.leave.signal });
      page.codes.forEach((code, index) => this.names.set(code, { name: page.names[index] ?? "", short: page.short_names[index] ?? null, demangled: page.demangled_names[index] ?? null }));
      this.fetched.push({ from, to: page.next ?? NO_NAME });
    } catch (error) {
      // Without them slices are drawn without text.
      if (error instanceof ApiError || this.leave.signal.aborted) return;
      throw error;
    } finally {
      this.isAsking = false;
    }
    this.onNames();
  }
}
