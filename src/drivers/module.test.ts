import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { moduleDriver } from "./module.ts";

function module(text: string): string {
  const path = join(folder(), "driver.mjs");
  writeFileSync(path, text);
  return path;
}

const GOOD = `{ name: "own", program: "own", install: null, json: false, mcp: false, knownVersions: [],
  launch: () => ({}), reader: () => ({}), judge: () => ({}) }`;

describe("a driver module", () => {
  it("is its default export", async () => {
    expect(await moduleDriver(module(`export default ${GOOD};`))).toMatchObject({ name: "own", program: "own" });
  });

  it.each([
    ["export const driver = 1;", /no object/],
    [`export default { ...${GOOD}, name: "Own Name" };`, /`name`/],
    [`export default { ...${GOOD}, judge: 1 };`, /`judge` must be a function/],
    [`export default { ...${GOOD}, message: "x" };`, /`message`/],
    [`export default { ...${GOOD}, program: 1 };`, /`program` must be text or null/],
    [`export default { ...${GOOD}, mcp: undefined };`, /`mcp` must be true or false/],
    [`export default { ...${GOOD}, knownVersions: [1] };`, /`knownVersions`/],
    ["throw new Error('boom');", /cannot be loaded: boom/],
  ])("is refused when it is none: %s", async (text, why) => {
    const loading = moduleDriver(module(text));
    await expect(loading).rejects.toThrow(why);
    await expect(loading).rejects.toMatchObject({ code: "BAD_CONFIG" });
  });

  it("is refused when it does not exist", async () => {
    await expect(moduleDriver(join(folder(), "none.mjs"))).rejects.toMatchObject({ code: "BAD_CONFIG" });
  });
});
