import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { masker, maskText, maskValue, nothingBefore } from "./mask.ts";

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
});

const parts = [
  "sk-ant-",
  "ghp_",
  "xoxb-",
  "eyJ",
  ".",
  "-----BEGIN RSA PRIVATE KEY-----",
  "-----END RSA PRIVATE KEY-----",
  "Bearer ",
  "api_key",
  "TOKEN",
  "password",
  "Authorization: ",
  '"',
  "'",
  "\\",
  ":",
  "=",
  " ",
  "\u00a0",
  "https://",
  "user:",
  "@host",
  "0123456789abcdefABCDEF",
  "é",
  "\n",
  "\t",
  "%41",
  "%",
  "\u001b[31m",
  "\u001b]8;;",
  "\u0007",
  "{",
  "}",
  ",",
];
const anything = fc
  .array(fc.oneof(fc.constantFrom(...parts), fc.string({ maxLength: 5 })), { maxLength: 14 })
  .map((some) => some.join(""));

describe("any text (property)", () => {
  it("a line of JSON stays JSON with the same keys, also in JSON, also where an armoured key goes on", () => {
    fc.assert(
      fc.property(anything, anything, fc.boolean(), (one, two, block) => {
        fc.pre(one.isWellFormed() && two.isWellFormed());
        for (const text of [one, JSON.stringify({ inner: one })]) {
          const line = JSON.stringify({ type: "delta", text, n: 1, other: two });
          const before = { ...nothingBefore(), block };
          const shown = masker().line(Buffer.from(line), before).toString();
          expect(Object.keys(JSON.parse(shown))).toEqual(["type", "text", "n", "other"]);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("is hidden in text as in bytes", () => {
    fc.assert(
      fc.property(anything, (text) => {
        fc.pre(text.isWellFormed());
        expect(masker().bytes(Buffer.from(text)).toString()).toBe(maskText(text));
      }),
      { numRuns: 3000 },
    );
  });
});

describe("text and bytes", () => {
  it("a name may be followed by any kind of space, in text and in bytes", () => {
    for (const space of [" ", "\u00a0", "\u1680", "\u2003", "\u3000", "\ufeff"]) {
      const text = `access_token${space}:hunter22`;
      expect(masker().bytes(Buffer.from(text)).toString()).toBe(`access_token${space}:[masked]`);
      expect(maskText(text)).toBe(`access_token${space}:[masked]`);
    }
  });
});
