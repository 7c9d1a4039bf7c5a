import { expect, it } from "vitest";
import { masker } from "../../core/mask/mask.ts";
import { Digest } from "./digest.ts";

const KEY = `sk-ant-api03-${"Zx9".repeat(30)}`;

it("masks whole texts: a secret in two pieces, behind a key's name, or where a long text is cut", () => {
  const digest = new Digest(true);
  digest.add({ kind: "said", text: `half ${KEY.slice(0, 40)}` }, 1);
  digest.add({ kind: "said", text: KEY.slice(40) }, 2);
  digest.add({ kind: "tool", id: "1", name: "Login", input: { password: "hunter22", at: KEY }, paths: [] }, 3);
  for (let shift = 0; shift < 120; shift += 7)
    digest.add({ kind: "tool_result", id: "1", ok: true, text: `${"a ".repeat(150_000 - shift)}${KEY.repeat(2)}` }, 4);
  const text = JSON.stringify(digest.lines(masker(), 1 << 20));
  expect(text).toContain("half [masked]");
  for (const part of [KEY.slice(0, 10), "Zx9", "hunter22"]) expect(text).not.toContain(part);
});

it("gives the newest lines that fit, oldest first, each with its number", () => {
  const digest = new Digest(true);
  for (let n = 1; n <= 50; n++) digest.add({ kind: "tool_result", id: null, ok: n % 2 === 0, text: `answer ${n}` }, n);
  const lines = digest.lines(masker(), 120);
  expect(lines.map(({ line }) => line)).toEqual([48, 49, 50]);
  expect(lines[1]?.text).toBe("is answered with an error: answer 49");
});

it("plain lines keep their numbers, unless a secret goes over several of them", () => {
  const said = (digest: Digest, lines: readonly string[]): void =>
    lines.forEach((text, n) => {
      digest.add({ kind: "said", text }, n + 1);
    });
  const plain = new Digest(false);
  said(plain, ["one", "two", "three"]);
  expect(plain.lines(masker(), 1000)).toEqual([
    { line: 1, text: "says: one" },
    { line: 2, text: "says: two" },
    { line: 3, text: "says: three" },
  ]);
  const pem = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIEpAIBAAKC",
    `${"Qk".repeat(32)}`,
    "-----END RSA PRIVATE KEY-----",
  ];
  const whole = new Digest(false);
  said(whole, ["before", ...pem, "after"]);
  expect(whole.lines(masker(), 1000)).toEqual([{ line: 1, text: "says: before [masked] after" }]);
  const rest = new Digest(false);
  said(rest, pem.slice(2));
  expect(JSON.stringify(rest.lines(masker(), 1000))).not.toContain("QkQk");
});
