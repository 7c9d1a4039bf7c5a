import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { masker, maskText, maskValue } from "./mask.ts";

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

describe("text and bytes", () => {
  it("a name may be followed by any kind of space, in text and in bytes", () => {
    for (const space of [" ", "\u00a0", "\u1680", "\u2003", "\u3000", "\ufeff"]) {
      const text = `access_token${space}:hunter22`;
      expect(masker().bytes(Buffer.from(text)).toString()).toBe(`access_token${space}:[masked]`);
      expect(maskText(text)).toBe(`access_token${space}:[masked]`);
    }
  });
});
