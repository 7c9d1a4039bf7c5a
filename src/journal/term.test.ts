import { appendFileSync } from "node:fs";
import { expect, it } from "vitest";
import { event } from "../../test/contract/engine.ts";
import { MemoryEngine } from "../../test/support/data/memory-engine.ts";
import { folder } from "../../test/support/folder.ts";
import { layout } from "../disk/layout.ts";
import { EmbeddedEngine } from "./embedded-engine.ts";
import type { BadLine, Engine, Stored } from "./engine.ts";
import type { JournalEvent } from "./event.ts";
import { fenced, Terms, termKey, withoutStale } from "./term.ts";

async function contents(items: AsyncIterable<Stored | BadLine>): Promise<string[]> {
  const found: string[] = [];
  for await (const item of items) if ("event" in item) found.push(item.event.content);
  return found;
}

async function elected(engine: Engine, term: number, content: string, more: Partial<JournalEvent> = {}): Promise<void> {
  const election = event(content, { type: "leader_election", term, ...more });
  await engine.set(
    termKey(typeof more["role"] === "string" ? more["role"] : "leader", term),
    { event: election.id },
    0,
  );
  await engine.append([election]);
}

const visible = (engine: Engine): Promise<string[]> => contents(withoutStale(engine.read(), new Terms(engine)));

it("R-003.11: what an old leader writes behind the next election is seen by nobody", async () => {
  const engine = new MemoryEngine();
  await elected(engine, 1, "one");
  await engine.append([event("by one", { term: 1 }), event("plain")]);
  await elected(engine, 2, "two");
  await engine.append([event("late by one", { term: 1 }), event("by two", { term: 2 }), event("also plain")]);
  expect(await visible(engine)).toEqual(["one", "by one", "plain", "two", "by two", "also plain"]);
});

it("R-003.11: a forged election changes nothing, nor does a term that nobody won", async () => {
  const engine = new MemoryEngine();
  await elected(engine, 1, "one");
  await engine.append([
    event("forged", { type: "leader_election", term: 7 }),
    event("no term", { type: "leader_election" }),
    event("by nobody", { term: 7 }),
    event("odd", { type: "leader_election", term: 2, role: "../../etc" }),
    event("by one", { term: 1 }),
  ]);
  expect(await visible(engine)).toEqual(["one", "by one"]);
});

it("a second line with another id does not prove a term again", async () => {
  const engine = new MemoryEngine();
  await elected(engine, 3, "three");
  await engine.append([event("copy", { type: "leader_election", term: 3 }), event("by three", { term: 3 })]);
  expect(await visible(engine)).toEqual(["three", "by three"]);
});

it("roles do not touch each other", async () => {
  const engine = new MemoryEngine();
  await elected(engine, 5, "five");
  await elected(engine, 1, "other", { role: "sync" });
  await engine.append([event("five", { term: 5 }), event("sync", { term: 1, role: "sync" })]);
  expect(await visible(engine)).toEqual(["five", "other", "five", "sync"]);
});

it("a reader that begins at a cursor decides as one that read everything", async () => {
  const engine = new MemoryEngine();
  await elected(engine, 1, "one");
  await elected(engine, 2, "two");
  await engine.append([event("late", { term: 1 }), event("by two", { term: 2 })]);
  const cursors: (string | undefined)[] = [undefined];
  for await (const { next } of engine.read()) cursors.push(next);
  const whole = await visible(engine);
  for (const after of cursors) {
    const rest = await contents(fenced(engine).read({ after }));
    expect(whole.join()).toMatch(new RegExp(`${rest.join()}$`));
    expect(rest).not.toContain("late");
  }
  const reader = fenced(engine);
  expect(await contents(reader.read())).toEqual(whole);
  await engine.append([event("later", { term: 1 }), event("again by two", { term: 2 })]);
  expect(await contents(reader.read({ after: cursors.at(-1) }))).toEqual(["again by two"]);
});

it.each(["blank", "doubled"])(
  "a reader that begins behind a %s line sees what the leader of that time wrote",
  async (kind) => {
    const paths = layout(folder());
    const engine = new EmbeddedEngine(paths);
    await elected(engine, 1, "one");
    const plain = event("plain");
    await engine.append([plain]);
    if (kind === "blank") appendFileSync(paths.events, "\n");
    else await engine.append([plain]);
    await engine.append([event("by one", { term: 1 })]);
    await elected(engine, 2, "two");
    await engine.append([event("late by one", { term: 1 }), event("by two", { term: 2 })]);
    expect(await contents(fenced(engine).read({ after: await engine.tail(4) }))).toEqual(["by one", "two", "by two"]);
    await engine.close();
  },
);

it("an election without a term counts for no reader, wherever it begins", async () => {
  const engine = new EmbeddedEngine(layout(folder()));
  await engine.append([event("before"), event("chosen by a shell", { type: "leader_election" }), event("behind")]);
  expect(await contents(fenced(engine).read())).toEqual(["before", "behind"]);
  expect(await contents(fenced(engine).read({ after: await engine.tail(2) }))).toEqual(["behind"]);
  await engine.close();
});
