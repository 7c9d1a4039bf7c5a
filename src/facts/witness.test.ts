import { expect, it } from "vitest";
import { facts } from "../../test/support/facts.ts";
import { phaseNow } from "./observe.ts";
import { outcomeOf, reasonOf } from "./state.ts";
import { refuted } from "./witness.ts";

const claim = { by: "keeper" };
const start = { main: {}, exec_error: null };

it.each([
  ["done.json", { claim, start, done: { verified: true }, cleanup: {} }],
  ["claim", { claim: { by: "launcher", why: "given up" } }],
  ["start.json", { claim, start: { exec_error: { name: "ENOENT", what: "exec" } } }],
])("%s says that a run is over which lives: it is lost, and the reason names the fact", (fact, given) => {
  const now = refuted(facts(given));
  expect([phaseNow(now), outcomeOf(now, "lost"), now.done, now.cleanup]).toEqual([
    "lost",
    "lost",
    undefined,
    undefined,
  ]);
  expect(reasonOf(now, "lost")).toBe(`${fact} says that it has ended, but processes of it live`);
  expect(phaseNow({ ...now, keeperLives: true })).not.toBe("launch_failed");
});

it("an exit that cannot be read is none that was seen, and the reason says so", () => {
  const now = facts({ claim, start, done: { verified: true }, damaged: ["exit.json has no ended_at"] });
  expect([phaseNow(now), outcomeOf(now, "drained")]).toEqual(["drained", "lost"]);
  expect(reasonOf(now, "drained")).toBe("damaged: exit.json has no ended_at");
});
