/**
 * The user's choice of columns and widths: in the address for the tables of a page (`kernels.cols=+median_us,-block`,
 * `kernels.widths=name:420`), in memory for tables inside rows.
 */
import { useEffect, useMemo, useState } from "react";

import { adjust, useParams } from "../state/urlStore";

export interface ColumnChoices {
  /** Widths in px by column key. */
  readonly widths: ReadonlyMap<string, number>;
  /** By column key, whether the column is shown; other columns have the default of the table. */
  readonly shown: ReadonlyMap<string, boolean>;
}

export const NO_CHOICES: ColumnChoices = { widths: new Map(), shown: new Map() };
export const MIN_WIDTH_PX = 48;
const MAX_WIDTH_PX = 4000;
/** Further parts of a link are ignored. */
const MAX_PARTS = 100;
const SHOWN = /^([+-])([A-Za-z_]\w{0,79})$/;
const WIDTH = /^([A-Za-z_]\w{0,79}):(\d{1,5})$/;

export function formatShown({ shown }: ColumnChoices): string {
  return [...shown].map(([key, isShown]) => `${isShown ? "+" : "-"}${key}`).join(",");
}

export function formatWidths({ widths }: ColumnChoices): string {
  return [...widths].map(([key, widthPx]) => `${key}:${Math.round(widthPx)}`).join(",");
}

/** Malformed parts of a link are ignored. */
export function parseChoices(shown: string, widths: string): ColumnChoices {
  return {
    shown: new Map(parts(shown, SHOWN).map(([, sign, key = ""]) => [key, sign === "+"])),
    widths: new Map(parts(widths, WIDTH).map(([, key = "", px]) => [key, Math.min(MAX_WIDTH_PX, Math.max(MIN_WIDTH_PX, Number(px)))])),
  };
}

function parts(text: string, form: RegExp): RegExpExecArray[] {
  return text.split(",", MAX_PARTS).flatMap((part) => {
    const match = form.exec(part);
    return match === null ? [] : [match];
  });
}

/** Choices by table while the page is open: switching views or closing a row must not lose them. */
const remembered = new Map<string, ColumnChoices>();

/** @param address Prefix of the parameters in the address; null stores the choices by the name of the table. */
export function useColumnChoices(address: string | null, name: string): [ColumnChoices, (next: ColumnChoices) => void] {
  const params = useParams();
  const [local, setLocal] = useState(() => remembered.get(name) ?? NO_CHOICES);
  const shown = params[`${address}.cols`] ?? "";
  const widths = params[`${address}.widths`] ?? "";
  const linked = useMemo(() => parseChoices(shown, widths), [shown, widths]);
  const write = (next: ColumnChoices) => adjust({ [`${address}.cols`]: formatShown(next), [`${address}.widths`]: formatWidths(next) });
  useEffect(() => {
    const before = remembered.get(name);
    if (address !== null && shown === "" && widths === "" && before !== undefined && before !== NO_CHOICES) write(before);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- only on return to the table
  }, [address, name]);
  const update = (next: ColumnChoices) => {
    remembered.set(name, next);
    if (address === null) setLocal(next);
    else write(next);
  };
  return [address === null ? local : linked, update];
}
