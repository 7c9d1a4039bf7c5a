import { expect, it } from "vitest";
import { masker } from "../core/mask.ts";
import { Digest } from "./digest.ts";

const KEY = `sk-ant-api03-${"Zx9".repeat(30)}`;

it("masks whole texts: a secret in two pieces, behind a key's name, or where a long text is cut", () => {
  const digest = new Digest();
  digest.add({ kind: "said", text: `half ${KEY.slice(0, 40)}` }, 1);
  digest.add({ kind: "said", text: KEY.slice(40) }, 2);
  digest.add({ kind: "tool", id: "1", name: "Login", input: { password: "hunter22", at: KEY }, paths: [] }, 3);
  for (let shift = 0; shift < 120; shift += 7)
    digest.add({ kind: "tool_result", id: "1", ok: true, text: `${"a ".repeat(50_000 - shift)}${KEY.repeat(2)}` }, 4);
  const text = JSON.stringify(digest.lines(masker(), 1 << 20));
  expect(text).toContain("half [masked]");
  for (const part of [KEY.slice(0, 10), "Zx9", "hunter22"]) expect(text).not.toContain(part);
});

it("gives the newest lines that fit, oldest first, each with its number", () => {
  const digest = new Digest();
  for (let n = 1; n <= 50; n++) digest.add({ kind: "tool_result", id: null, ok: n % 2 === 0, text: `answer ${n}` }, n);
  const lines = digest.lines(masker(), 120);
  expect(lines.map(({ line }) => line)).toEqual([48, 49, 50]);
  expect(lines[1]?.text).toBe("is answered with an error: answer 49");
});
