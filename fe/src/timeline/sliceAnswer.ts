/** The answer of `/slice/<id>` (server/slice_details.py). */
export interface Linked {
  readonly count: number;
  readonly slices: readonly { readonly id: number; readonly name: string | null }[];
}

export interface SliceDetail {
  readonly id: number;
  readonly name: string | null;
  readonly category: string;
  readonly raw_category: string | null;
  readonly start_us: number;
  readonly dur_us: number;
  readonly self_us: number | null;
  readonly device_self_us: number | null;
  readonly device_total_us: number | null;
  /** Why the device times are null, where the slice could have some. */
  readonly no_device_time: string | null;
  readonly step: string | null;
  readonly correlation: number | null;
  readonly args: Readonly<Record<string, string | number | boolean | readonly number[]>>;
  readonly call_stack: readonly { readonly text: string }[];
  readonly links: Readonly<Record<string, Linked | undefined>>;
}

export interface SliceAnswer {
  readonly slice: SliceDetail;
}
