import { expect, it } from "vitest";

import { ZoomHistory } from "./zoomHistory";

const at = (startNs: number, span: number) => ({ startNs, endNs: startNs + span });

it("zooms are undone and redone one by one", () => {
  const zooms = new ZoomHistory();
  const [whole, step, kernel] = [at(0, 1e9), at(1e8, 1e8), at(1.1e8, 1e5)];
  for (const each of [whole, step, kernel]) zooms.rest(each);
  expect([zooms.undo(kernel), zooms.undo(step), zooms.undo(whole)]).toEqual([step, whole, null]);
  expect([zooms.redo(whole), zooms.redo(step), zooms.redo(kernel)]).toEqual([step, kernel, null]);
});

it("panning is not a zoom: undo restores the zoom before it", () => {
  const zooms = new ZoomHistory();
  zooms.rest(at(0, 1e9));
  zooms.rest(at(1e8, 1e6));
  zooms.rest(at(5e8, 1e6));
  expect(zooms.undo(at(7e8, 1e6))).toEqual(at(0, 1e9));
  expect(zooms.redo(at(0, 1e9))).toEqual(at(7e8, 1e6));
});

it("a zoom that has not rested yet is undone as well", () => {
  const zooms = new ZoomHistory();
  zooms.rest(at(0, 1e9));
  expect(zooms.undo(at(1e8, 1e6))).toEqual(at(0, 1e9));
});

it("after an undo, another zoom replaces the undone ones; only the last fifty are stored", () => {
  const zooms = new ZoomHistory();
  for (let zoom = 0; zoom < 80; zoom++) zooms.rest(at(0, 2 ** zoom));
  let shown = at(0, 2 ** 79);
  let count = 0;
  for (let before = zooms.undo(shown); before !== null; before = zooms.undo(shown)) {
    shown = before;
    count++;
  }
  expect(count).toBe(49);
  zooms.rest(at(0, 7));
  expect(zooms.redo(at(0, 7))).toBeNull();
});
