import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeEvent } from "../event.ts";
import { emptyProjection, fold, type Projection, renderCommunication, reportOf } from "./project.ts";
import { headingsOf } from "./render.ts";

const HEADINGS = headingsOf(undefined);

interface Said {
  interaction: number;
  content: string;
  type: string;
}

/** As the snapshot does it: the state goes through JSON at each of the given places. */
function project(said: readonly Said[], keep: number, cuts: readonly number[]) {
  let projection: Projection = emptyProjection(keep);
  let archive = "";
  for (const [i, one] of said.entries()) {
    if (cuts.includes(i)) projection = JSON.parse(JSON.stringify(projection));
    const event = makeEvent({
      ...one,
      actor: `actor ${one.interaction}`,
      timestamp: "2026-11-15T19:00:00Z",
      id: `id-${i}`,
    });
    fold(projection, event, (text) => {
      archive += text;
    });
  }
  return { projection, archive, communication: renderCommunication(projection, HEADINGS) };
}

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "<!-- END COMMUNICATION -->",
    "### Interaction #999999",
    "x\n## Interaction #999999",
    "x\n  ## Interaction #999999",
    "x\r### Interaction #999999",
    "- [A question 2026-11-15T19:00:00Z]",
    "x\n====",
    "<h2>Interaction #999999</h2>",
    "<!-- BEGIN COMMUNICATION -->\n#### A → B",
  ),
);
const saids = fc.array(
  fc.record({
    interaction: fc.oneof(fc.nat({ max: 12 }), fc.nat({ max: 100_000 })),
    content: texts,
    type: fc.constantFrom("question", "answer", "note"),
  }),
  { maxLength: 120 },
);

describe("the fold of the journal", () => {
  it("R-003.5: going on from any state gives what a rebuild gives; each event is in one of the two files", () => {
    fc.assert(
      fc.property(saids, fc.nat({ max: 5 }), fc.array(fc.nat({ max: 120 }), { maxLength: 5 }), (said, keep, cuts) => {
        const whole = project(said, keep, []);
        const parts = project(said, keep, cuts);
        expect(parts).toEqual(whole);
        const headed = (text: string, mark: string): string[] =>
          text.split("\n").filter((line) => line.startsWith(mark) && !line.endsWith("(continued)"));
        const numbers = [...new Set(said.map(({ interaction }) => interaction))].sort((a, b) => a - b);
        const recent = numbers.slice(Math.max(0, numbers.length - keep));
        expect(headed(whole.communication, "### ")).toEqual(recent.map((n) => `### Interaction #${n}`));
        // Each older interaction once.
        const older = numbers.slice(0, numbers.length - recent.length);
        expect(headed(whole.archive, "## ").sort()).toEqual(older.map((n) => `## Interaction #${n}`).sort());
        const entries = (text: string, mark: string): number =>
          text.split("\n").filter((line) => line.startsWith(mark)).length;
        expect(entries(whole.archive, "- [") + entries(whole.communication, "#### ")).toBe(said.length);
        expect(whole.communication + whole.archive).not.toMatch(/<!--|<h2>/);
        expect(reportOf(whole.projection)).toMatchObject({
          interactions: numbers.length,
          recent: recent.length,
          archived: older.length,
          events: said.length,
        });
      }),
      { numRuns: 300 },
    );
  });

  it("an interaction without end stays bounded: its older half goes to the archive", () => {
    const said = Array.from({ length: 2000 }, (_, i) => ({ interaction: 1, content: `n${i}`, type: "note" }));
    const { projection, archive, communication } = project(said, 3, [500, 1300]);
    expect(projection.recent[0]?.events.length).toBeLessThanOrEqual(400);
    expect(archive.match(/^## /gm)).toHaveLength(1);
    expect((archive + communication).match(/\bn\d+$/gm)).toHaveLength(2000);
    expect(reportOf(projection)).toMatchObject({ interactions: 1, recent: 1, archived: 0 });
    const long = Array.from({ length: 20 }, () => ({ interaction: 1, content: "x".repeat(1 << 18), type: "note" }));
    expect(JSON.stringify(project(long, 3, []).projection).length).toBeLessThan(1.5 * (1 << 20));
  });

  it("R-003.5: what comes late for an archived interaction is added as continued", () => {
    const said = [1, 2, 3, 4, 2, 2, 1, 5].map((interaction) => ({
      interaction,
      content: `of ${interaction}`,
      type: "note",
    }));
    const { archive } = project(said, 2, []);
    expect(archive.split("\n").filter((line) => line.startsWith("##"))).toEqual([
      "## Interaction #1",
      "## Interaction #2",
      "## Interaction #2 (continued)",
      "## Interaction #1 (continued)",
      "## Interaction #3",
    ]);
  });

  it("a state stays small whatever the numbers", () => {
    const said = Array.from({ length: 20_000 }, (_, i) => ({ interaction: i * 3, content: "x", type: "note" }));
    expect(JSON.stringify(project(said, 3, []).projection).length).toBeLessThan(100_000);
  });

  it("R-003.6: types map to headings, and the map can be changed", () => {
    const { projection } = project(
      ["question", "answer", "followup", "heartbeat", "idea", "constructor"].map((type) => ({
        interaction: 1,
        content: "c",
        type,
      })),
      3,
      [],
    );
    const headings = (map: unknown): string[] =>
      renderCommunication(projection, headingsOf(map)).match(/^#### .*/gm) ?? [];
    expect(headings(undefined)).toEqual([
      "#### A → B",
      "#### B → A",
      "#### A Follow-Up",
      "#### heartbeat",
      "#### idea",
      "#### constructor",
    ]);
    expect(headings({ question: "{actor} asks {to}", idea: "An idea" }).slice(0, 5)).toEqual([
      "#### actor 1 asks all",
      "#### B → A",
      "#### A Follow-Up",
      "#### heartbeat",
      "#### An idea",
    ]);
    expect(() => headingsOf({ question: 5 })).toThrow(/not a map/);
  });
});
