import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { SearchHit } from "../../src/stream/search.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { workspaceIn } from "../support/run.ts";

/** Below what workers are worth, and above it. */
for (const lines of [1000, 200_000])
  it(`a damaged archive is named and hides no other log (${lines} lines)`, async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const agents: string[] = [];
    for (const name of ["cut", "spoilt", "whole"]) {
      // No two lines alike: where they repeat, damaged bytes can unpack to what was there before.
      const script = `base64 -w 90 /dev/urandom | head -n ${lines} | awk '{ print "${name} needle " NR " " $0 }'`;
      const argv = ["sh", "-c", script];
      const { agent } = await workspace.runs.start({ argv, name });
      await workspace.runs.wait([agent]);
      await workspace.files.archive(agent);
      agents.push(agent);
    }
    const [cut = "", spoilt = "", whole = ""] = agents;
    truncateSync((await workspace.runs.show(cut)).log, 100);
    const { log } = await workspace.runs.show(spoilt);
    expect(log).toMatch(/\.zst$/);
    const bytes = readFileSync(log);
    const middle = bytes.length >> 1;
    bytes.fill(0xff, middle, middle + 8);
    writeFileSync(log, bytes);

    const unread = new Map<string, string>();
    const hits: SearchHit[] = [];
    const onUnread = (agent: string, _run: number, why: string): void => void unread.set(agent, why);
    for await (const hit of workspace.logs.search("needle 77 ", { onUnread })) hits.push(hit);
    expect([...unread.keys()].sort()).toEqual([cut, spoilt].sort());
    for (const why of unread.values()) expect(why).toMatch(/damaged/);
    expect(hits.filter(({ agent }) => agent === whole)).toMatchObject([{ seq: 77 }]);
    expect(hits.filter(({ agent }) => agent === cut)).toEqual([]);

    const given: SearchHit[] = [];
    const unasked = async (): Promise<void> => {
      for await (const hit of workspace.logs.search("needle 77 ")) given.push(hit);
    };
    await expect(unasked()).rejects.toMatchObject({
      code: "CORRUPT_ARCHIVE",
      message: expect.stringContaining(`${cut}.1`),
    });
    expect(given).toEqual(hits);

    const { code, stderr, stdout } = await midwatch(place, ["search", "needle 1 "]);
    expect(code).toBe(0);
    expect(stdout).toContain("whole needle 1 ");
    for (const agent of [cut, spoilt]) expect(stderr).toContain(`${agent}.1 is not searched to its end: `);
  });
