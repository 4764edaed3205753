import { expect, it } from "vitest";

import { errorRange, positionText } from "./errorPosition";

/** The marked part of the query. */
function marked(query: string, message: string): string | null {
  const range = errorRange(query, { message });
  return range === null ? null : query.slice(range.start, range.end);
}

// Messages as the server sends them for these queries.
it("marks the word that the message names by line and column", () => {
  expect(marked("select nme from raw.slices", "Referenced column \"nme\" not found in FROM clause (line 1, column 8, at 'nme from raw.slices').")).toBe("nme");
  expect(marked("select\n from", "syntax error at or near \"from\" (line 2, column 2, at 'from').")).toBe("from");
  expect(marked("select '😀', nme from x", "… (line 1, column 13, at 'nme from x').")).toBe("nme");
  expect(marked("select 1 +\n", "syntax error at end of input (line 2, column 1, at its end).")).toBe("+");
});

it("takes the position of the message, not one that the query quotes", () => {
  expect(marked("select a, 'line 9, column 9'", "Referenced column \"a\" not found (line 1, column 8, at \"a, 'line 9, column 9'\").")).toBe("a");
});

it("marks a table that there is not", () => {
  expect(marked("select 'slics' from slics", "There is no table 'slics'.")).toBe("slics");
  expect(marked("select * from Raw.Slics s", "There is no table 'raw.slics'.")).toBe("Raw.Slics");
  expect(marked("select * from gpus", "Several views have a table 'gpus'.")).toBe("gpus");
});

it("marks nothing where the message names nothing", () => {
  for (const message of ["The query takes longer than 30 s.", "x (line 7, column 1, at 'a').", "There is no table 'other'."]) expect(errorRange("select 1", { message })).toBeNull();
});

it("says where in words", () => {
  expect(positionText("select\n '😀', x", { start: 14, end: 15 })).toBe("line 2, column 7");
});
