import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { operations } from "../../operations/index.ts";
import type { Operation } from "../../operations/operation.ts";
import { schemaOf } from "../../operations/schema.ts";
import { parse, plainly } from "../cli/parse.ts";
import { type Flag, fieldsOf } from "../flags.ts";
import { fromQuery } from "./api.ts";
import { inputSchema } from "./openapi.ts";

const WORDS = ["5s", "10m", "500M", "0", "1", "17", "-3", "2.5", "x", "build-1", "a b", "é", "true", "+", "", "note"];
const more = ["2026-11-15T19:00:00Z", '{"a":1}', "[1]", "TASK-20261115-190000-1a2b3c4d", "turns", "low", "task", "ask"];

function wordsOf(field: Flag): fc.Arbitrary<string> {
  const any = fc.constantFrom(...WORDS, ...more);
  return field.choices === undefined ? any : fc.oneof(any, fc.constantFrom(...field.choices));
}

/** What a person could type behind the command. */
function argvOf(operation: Operation): fc.Arbitrary<string[]> {
  const parts = fieldsOf(operation).map((field): fc.Arbitrary<string[]> => {
    const word = wordsOf(field);
    if (field.field === operation.passthrough) return fc.constant<string[]>([]);
    if (operation.positionals.includes(field.field)) return fc.array(word, { maxLength: field.many ? 4 : 1 });
    if (field.kind === "boolean") return fc.constantFrom<string[]>([], [`--${field.name}`], [`--no-${field.name}`]);
    const given = fc.array(word, { maxLength: field.many ? 2 : 1 });
    return fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: given.map((all) => all.map((text) => `--${field.name}=${text}`)) },
    );
  });
  const behind =
    operation.passthrough === undefined
      ? fc.constant<string[]>([])
      : fc.constantFrom<string[]>([], ["--", "echo", "-x"]);
  return fc.tuple(...parts, behind).map((all) => all.flat());
}

/** Undefined for what the command line refuses. */
function typed(
  operation: Operation,
  argv: readonly string[],
): { input: Record<string, unknown>; data: unknown } | undefined {
  let input: Record<string, unknown>;
  try {
    ({ input } = parse(operation, argv));
  } catch {
    return undefined;
  }
  const { data } = schemaOf(operation).safeParse(input);
  // What is taken without the schema is what the schema gives.
  expect(plainly(operation, input) ?? data).toEqual(data);
  return data && { input, data };
}

/** Times given as "10m" are read against the clock. */
const still = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === "number" && inner > 1e12 ? "a time" : inner));

describe("what the command line takes, HTTP takes", () => {
  it.each(operations.map((operation) => [operation.name, operation] as const))("%s", (_, operation) => {
    const schema = z.fromJSONSchema(inputSchema(operation) as Parameters<typeof z.fromJSONSchema>[0]);
    let accepted = 0;
    fc.assert(
      fc.property(argvOf(operation), (argv) => {
        const found = typed(operation, argv);
        if (found === undefined) return;
        accepted++;
        const { input, data } = found;
        const sent = JSON.parse(JSON.stringify(input));
        expect(schema.safeParse(sent).error?.issues).toBeUndefined();
        expect(still(schemaOf(operation).parse(sent))).toBe(still(data));
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries(input))
          for (const one of Array.isArray(value) ? value : [value])
            query.append(name, typeof one === "object" ? JSON.stringify(one) : String(one));
        // An empty list cannot be written as a query.
        if (!Object.values(input).some((value) => Array.isArray(value) && value.length === 0))
          expect(still(schemaOf(operation).parse(fromQuery(operation, query)))).toBe(still(data));
      }),
      { numRuns: 150 },
    );
    expect(accepted).toBeGreaterThan(0);
  });
});
