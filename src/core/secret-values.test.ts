import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { masker } from "./mask/mask.ts";
import { fingerprint, MASK, replaceSpans, secretFinder, secretValues } from "./secret-values.ts";

const finderFor = (...values: string[]) => secretFinder(fingerprint(values));
const hide = (values: string[], text: string): string => masker(finderFor(...values)).text(text);

describe("which variables are secret", () => {
  it.each([
    ["ANTHROPIC_API_KEY", "k-1234567890"],
    ["GITHUB_TOKEN", "abcdefgh"],
    ["db_password", "correct horse"],
    ["AWS_SECRET_ACCESS_KEY", "/abcDEF+123"],
    ["NPM_AUTH", "bmFtZTpwdw"],
    ["SERVICE_CREDENTIALS", '{"id":"x-123456"}'],
    ["MIDWATCH_CAPABILITY", "0123456789abcdef"],
    ["OPENAI_APIKEY", "abcd-efgh"],
  ])("%s is one", (name, value) => expect(secretValues({ [name]: value })).toEqual([value]));

  it.each([
    ["HOME", "/home/someone"],
    ["GIT_AUTHOR_NAME", "Some One Else"],
    ["SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.1"],
    ["API_TOKEN", "short"],
    ["USE_TOKEN", "true"],
    ["DB_PASSWORD", "postgres"],
    ["TOKEN_URL", "https://example.org/token"],
    ["SSL_KEY", "/etc/ssl/private/key.pem"],
    ["MAX_OUTPUT_TOKENS", "128000000"],
    ["KEYBOARD_LAYOUT", "us-international"],
    ["SECRET", "xxxxxxxxxxxx"],
    ["PWD", "/srv/project/x"],
  ])("%s=%s is none", (name, value) => expect(secretValues({ [name]: value })).toEqual([]));

  it("a value of several lines is known as a whole and by its lines", () => {
    expect(secretValues({ DEPLOY_KEY: "first line of it\nab\nlast line of it\n" })).toEqual([
      "first line of it",
      "last line of it",
      "first line of it\nab\nlast line of it\n",
    ]);
  });
});

describe("fingerprints", () => {
  it("hold neither a value nor a part of one, and differ from run to run", () => {
    const value = "correct-horse-battery";
    const [one, two] = [fingerprint([value]), fingerprint([value])].map((prints) => JSON.stringify(prints));
    expect(one).not.toBe(two);
    for (let i = 0; i + 4 <= value.length; i++) expect(one).not.toContain(value.slice(i, i + 4));
  });

  it("of nothing find nothing", () => {
    expect(secretFinder(fingerprint([]))).toBeUndefined();
    expect(secretFinder(undefined)).toBeUndefined();
  });
});

const secret = fc
  .string({ unit: "grapheme", minLength: 8, maxLength: 60 })
  .filter((text) => [...text].length >= 8 && text.isWellFormed());
const around = fc.string({ unit: "grapheme", maxLength: 200 }).filter((text) => text.isWellFormed());

describe("hiding values", () => {
  it("a value is never seen, wherever it stands and however often (property)", () => {
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.array(around), fc.nat(), (values, texts, at) => {
        const pieces = texts.flatMap((text, i) => [text, values[(at + i) % values.length] as string]);
        const text = pieces.join("");
        const shown = hide(values, text);
        for (const value of values) {
          // What the mask itself spells is no secret.
          if (!MASK.includes(value)) expect(shown.split(MASK).some((part) => part.includes(value))).toBe(false);
        }
        if (texts.length > 0) expect(shown).toContain(MASK);
      }),
      { numRuns: 300 },
    );
  });

  it("a value is never seen in a line of JSON, nor in JSON in JSON (property)", () => {
    fc.assert(
      fc.property(secret, around, around, fc.nat(2), (value, before, after, depth) => {
        let line = JSON.stringify({ text: before + value + after });
        for (let i = 0; i < depth - 1; i++) line = JSON.stringify({ inner: line });
        const hidden = masker(finderFor(value)).bytes(Buffer.from(line)).toString();
        let escaped = value;
        for (let i = 0; i < Math.max(1, depth); i++) escaped = JSON.stringify(escaped).slice(1, -1);
        expect(hidden).not.toContain(escaped);
        expect(hidden).toContain(MASK);
        expect(() => JSON.parse(hidden)).not.toThrow();
        expect(JSON.stringify(masker(finderFor(value)).value(JSON.parse(line)))).toContain(MASK);
      }),
      { numRuns: 300 },
    );
  });

  it("text without a value stays as it is, byte for byte (property)", () => {
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 4 }), fc.uint8Array({ maxLength: 2000 }), (values, bytes) => {
        const text = Buffer.from(bytes);
        const finder = finderFor(...values);
        fc.pre(values.every((value) => !text.includes(value)));
        expect(finder?.find(text) ?? []).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("values that overlap, contain each other or touch are all hidden", () => {
    expect(hide(["abcdefgh", "efghijkl"], "-abcdefghijkl-")).toBe("-[masked]-");
    expect(hide(["abcdefghijkl", "cdefghij"], "abcdefghijkl cdefghij")).toBe("[masked] [masked]");
    expect(hide(["abcdefgh"], "abcdefghabcdefgh")).toBe("[masked][masked]");
  });

  it("a shape within a value leaves nothing of the value behind", () => {
    const value = "front-sk-ant-api03-AbCdEfGhIjKlMnOp.back";
    expect(hide([value], `x ${value} y`)).toBe("x [masked] y");
  });

  it("escapes of other writers of JSON are known", () => {
    const value = 'pass/wörd<&>"1';
    for (const form of ['pass\\/wörd<&>\\"1', 'pass/w\\u00f6rd<&>\\"1', 'pass/wörd\\u003c\\u0026\\u003e\\"1'])
      expect(hide([value], `"${form}"`)).toBe(`"${MASK}"`);
  });

  it("a cut through a value shows neither half", () => {
    const bytes = Buffer.from("12345 my-secret-value 67890");
    const spans = finderFor("my-secret-value")?.find(bytes) ?? [];
    expect(replaceSpans(bytes, spans, 0, 10).toString()).toBe("12345 [masked]");
    expect(replaceSpans(bytes, spans, 12, bytes.length).toString()).toBe("[masked] 67890");
    expect(replaceSpans(bytes, spans, 22).toString()).toBe("67890");
  });

  it("a number in JSON that is a secret is hidden, and places are counted", () => {
    const made = masker(finderFor("8675309123"));
    expect(made.value({ pin: 8675309123, n: 12345678 })).toEqual({ pin: MASK, n: 12345678 });
    expect(made.count).toBe(1);
    made.text("8675309123 and password=hunter22");
    expect(made.count).toBe(3);
  });
});
