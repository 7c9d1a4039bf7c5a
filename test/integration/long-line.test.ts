import { expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";

const MIB = 1 << 20;
const VALUE = "hunter2-of-the-night-watch";
const KEY = `sk-ant-${"k".repeat(40)}`;

/** Prints `count` of a letter for each pair, then the text of the third, all in one line. */
const script = (parts: readonly (readonly [string, number, string])[]): string =>
  `${parts.map(([letter, count, text]) => `head -c ${count} /dev/zero | tr '\\0' ${letter}; printf %s ${text}`).join("; ")}; echo; echo behind`;

it("a line of 40 MB is printed whole, and a secret in it is hidden wherever it is cut", async () => {
  const at = lab();
  const workspace = at.open({ env: { ...process.env, MY_API_KEY: VALUE } });
  // One lies across each place where a piece could end: 1 MiB, and the 16 MiB that a line is held by.
  const parts = [
    ["x", MIB - 5, `' ${KEY} '`],
    ["y", 15 * MIB - 70, VALUE],
    ["z", 24 * MIB, "'$'"],
  ] as const;
  const { agent } = await workspace.runs.start({ argv: ["sh", "-c", script(parts)] });
  await workspace.runs.wait([agent]);
  const bytes = await at.raw(agent);
  const plain = await midwatch(at.folder, ["logs", agent]);
  expect(plain.stderr).toBe("midwatch: 2 secrets masked (--no-mask shows them)\n");
  expect(plain.stdout.length).toBeGreaterThan(40 * MIB - 200);
  expect(plain.stdout.endsWith("$\nbehind\n")).toBe(true);
  for (const secret of [VALUE, KEY, VALUE.slice(8), KEY.slice(8)]) expect(plain.stdout.includes(secret)).toBe(false);
  const open = await midwatch(at.folder, ["logs", "--no-mask", agent]);
  expect([open.stderr, Buffer.from(open.stdout).equals(bytes)]).toEqual(["", true]);
  const last = await midwatch(at.folder, ["logs", "--no-mask", "--grep", "xxx", "-n", "1", agent]);
  expect(last.stdout.length).toBe(bytes.length - "behind\n".length);
  const merged = await midwatch(at.folder, ["logs", "--task", (await workspace.runs.show(agent)).task]);
  expect(merged.stderr).toContain("a line of 40.0 MiB is cut; all of it: midwatch logs --raw");
});

it("a line in which one secret follows the other is cut, and that is said", async () => {
  const place = folder();
  const argv = ["sh", "-c", `yes ' ${KEY}' | head -n 400000 | tr -d '\\n'; echo; echo behind`];
  const { stdout } = await midwatch(place, ["run", "--json", "--wait", "--", ...argv]);
  const { agent } = JSON.parse(stdout.split("\n")[0] as string);
  const shown = await midwatch(place, ["logs", agent]);
  expect(shown.stdout).toMatch(/^( \S{3,30})+ ?\S{0,30}\nbehind\n$/);
  expect(shown.stdout).not.toContain("kkk");
  expect(shown.stderr).toMatch(/^midwatch: a line of 18\.\d MiB is cut; all of it: midwatch logs --raw --run 1 /);
});
