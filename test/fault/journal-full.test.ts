import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { fileOf, readJournal } from "../support/data/journal.ts";
import { mayMount, tmpfs } from "../support/fault/tmpfs.ts";

/** Takes all room but that in the last page of the journal. */
function fill(place: string): void {
  for (let size = 1 << 20; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(join(place, "filler"), Buffer.alloc(size), { flag: "a" });
    } catch {
      // Full for pieces of this size.
    }
  }
}

it.skipIf(!mayMount)(
  "R-003.14: a snapshot that cannot be written becomes one error event, rests, and goes on by itself when it can",
  async () => {
    const place = tmpfs("size=2m");
    using workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, cwd: place });
    const round = workspace.journal.snapshotRounds();
    await workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "first" });
    await round();
    const before = fileOf(workspace.root, "communication.md");
    await workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "second" });
    fill(place);
    await round();
    await round();
    const contents = (await readJournal(workspace.root)).stored
      .map((item) => item.event)
      .filter(({ type }) => type === "error");
    expect(contents).toHaveLength(1);
    expect(contents[0]?.content).toContain("no room");
    expect(fileOf(workspace.root, "communication.md")).toBe(before);
    rmSync(join(place, "filler"));
    await round();
    expect(fileOf(workspace.root, "communication.md")).toContain("second");
  },
);

it.skipIf(!mayMount)(
  "R-003.14: an event that meets a full disk is refused, leaves no half line, and can be given again",
  async () => {
    const place = tmpfs("size=2m");
    using workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, cwd: place });
    const say = (content: string) => workspace.journal.append({ interaction: 1, actor: "A", type: "note", content });
    await say("first");
    fill(place);
    await expect(say("x".repeat(200_000))).rejects.toMatchObject({ code: "DISK_FULL" });
    rmSync(join(place, "filler"));
    await say("behind");
    const { stored } = await readJournal(workspace.root);
    expect(stored.map((item) => item.event.content)).toEqual(["first", "behind"]);
    expect(readFileSync(join(workspace.root, "events.log")).at(-1)).toBe(10);
    expect(statSync(join(workspace.root, "events.log")).mode & 0o777).toBe(0o600);
  },
);
