import { expect, it } from "vitest";

import { Visit } from "./visit";

function watched() {
  const written: string[] = [];
  let nowMs = 0;
  const visit = new Visit(
    () => written.push("replace"),
    () => written.push("push"),
    () => nowMs,
  );
  return { visit, written, wait: (ms: number) => (nowMs += ms) };
}

it("changes by the page add no history entry; the first action of the user does", () => {
  const { visit, written } = watched();
  visit.jump();
  visit.write({});
  visit.act();
  for (let time = 0; time < 3; time++) visit.write({});
  expect(written).toEqual(["replace", "push", "replace", "replace"]);
});

it("jumps add an entry for a state that was shown for a while", () => {
  const { visit, written, wait } = watched();
  visit.act();
  visit.write({});
  for (const ms of [100, 100, 2000]) {
    wait(ms);
    visit.jump();
    visit.write({});
  }
  wait(5000);
  visit.write({});
  expect(written).toEqual(["push", "replace", "replace", "push", "replace"]);
});

it("after Back the next action adds an entry again", () => {
  const { visit, written } = watched();
  visit.act();
  visit.write({});
  visit.arrive();
  visit.write({});
  visit.act();
  visit.write({});
  visit.write({});
  expect(written).toEqual(["push", "replace", "push", "replace"]);
});
