import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { masker, maskText, maskValue, RULES } from "./mask.ts";

describe("masking", () => {
  it.each([
    ["sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "[masked]"],
    ["key sk-proj-abcdefghijklmnopqrstuvwx end", "key [masked] end"],
    ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "[masked]"],
    ["AKIAIOSFODNN7EXAMPLE", "[masked]"],
    ["Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [masked]"],
    ["export API_KEY=supersecretvalue", "export API_KEY=[masked]"],
    ['{"password": "hunter22"}', '{"password": "[masked]"}'],
    ['"{\\"api_key\\":\\"abcdef123\\"}"', '"{\\"api_key\\":\\"[masked]\\"}"'],
    ["postgres://me:s3cret@localhost/db", "postgres://me:[masked]@localhost/db"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "[masked]"],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[masked]"],
  ])("hides %s", (text, masked) => expect(maskText(text)).toBe(masked));

  it.each([
    "tokens: 1234",
    "the password is wrong",
    "sk-1",
    "https://example.org/a:b",
    "basic idea",
    "secretary",
    '{"input_tokens":12}',
  ])("leaves %s alone", (text) => expect(maskText(text)).toBe(text));

  it("hides values in JSON by shape and by key", () => {
    expect(
      maskValue({
        a: ["AKIAIOSFODNN7EXAMPLE", 1, null],
        password: "hunter22",
        nested: { client_secret: "abcdefgh", n: 1 },
      }),
    ).toEqual({
      a: ["[masked]", 1, null],
      password: "[masked]",
      nested: { client_secret: "[masked]", n: 1 },
    });
  });

  it("takes a moment even for hostile text (property)", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2000 }), (text) => typeof maskText(text) === "string"),
      { numRuns: 200 },
    );
    const begun = performance.now();
    maskText("-----BEGIN PRIVATE KEY-----".repeat(2000) + "a:".repeat(20_000) + "password=".repeat(5000));
    expect(performance.now() - begun).toBeLessThan(5000);
  });
});

describe("ruling text out at a glance", () => {
  /** All patterns, asked for nothing first. */
  const slowly = (text: string): string =>
    RULES.reduce((left, { pattern, named }) => left.replace(pattern, named ? "$1[masked]" : "[masked]"), text);
  const parts = [
    "sk-ant-",
    "pk_live_",
    "rk_test_",
    "ghp_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "asia",
    "AIza",
    "xoxb-",
    "npm_",
    "hf_",
    "eyJ",
    ".",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END",
    "Bearer ",
    "BASIC\t",
    "api_key",
    "API-KEY",
    "apikey",
    "secret",
    "token",
    "access_token",
    "refreshToken",
    "password",
    "Passwd",
    "client_secret",
    '"',
    "'",
    '\\"',
    ":",
    "=",
    " ",
    "\u00a0",
    "\u2003",
    "https://",
    "x+y://",
    "user:",
    "@host",
    "0123456789abcdefABCDEF",
    "é",
    "\n",
  ];

  it("hides what the patterns alone would hide, in text and in bytes (property)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...parts), fc.string({ maxLength: 5 })), { maxLength: 12 }),
        (some) => {
          const text = some.join("");
          expect(maskText(text)).toBe(slowly(text));
          if (text.isWellFormed()) expect(masker().bytes(Buffer.from(text)).toString()).toBe(slowly(text));
        },
      ),
      { numRuns: 5000 },
    );
  });

  it("a name may be followed by any kind of space, in text and in bytes", () => {
    for (const space of [" ", "\u00a0", "\u1680", "\u2003", "\u3000", "\ufeff"]) {
      const text = `access_token${space}:hunter22`;
      expect(masker().bytes(Buffer.from(text)).toString()).toBe(`access_token${space}:[masked]`);
      expect(maskText(text)).toBe(`access_token${space}:[masked]`);
    }
  });

  it("a line is clean only if nothing in it would be hidden (property)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...parts), fc.string({ maxLength: 5 })), { maxLength: 8 }),
        (some) => {
          const value = { text: some.join(""), [some[0] ?? "k"]: "hunter22" };
          const line = Buffer.from(JSON.stringify(value));
          if (masker().isClean(line)) expect(maskValue(value)).toEqual(value);
        },
      ),
      { numRuns: 3000 },
    );
    expect(masker().isClean(Buffer.from('{"a":"\\u0073k-ant-0123456789abcdef"}'))).toBe(false);
    expect(masker().isClean(Buffer.from('{"a":"nothing \\n here \\\\u"}'))).toBe(true);
  });
});
