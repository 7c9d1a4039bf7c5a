import fc from "fast-check";
import { expect, it } from "vitest";
import { removeMember, setMember } from "./json-edit.ts";

const VALUE = { command: "midwatch", args: ["mcp"] };

it("adds a member and leaves everything else, comments and large numbers too", () => {
  const text = `{
    // mine
    "id": 12345678901234567890, "a": [1, {"b": "}"},],
    "mcpServers": { "own": { "command": "x" } /* here */, },
}
`;
  expect(setMember(text, ["mcpServers", "midwatch"], VALUE)).toBe(`{
    // mine
    "id": 12345678901234567890, "a": [1, {"b": "}"},],
    "mcpServers": {
        "midwatch": {
            "command": "midwatch",
            "args": [
                "mcp"
            ]
        }, "own": { "command": "x" } /* here */, },
}
`);
});

it("replaces its value, makes what is missing on the way, and begins an empty file", () => {
  expect(setMember('{"a":{"b":1},"c":2}', ["a", "b"], 3)).toBe('{"a":{"b":3},"c":2}');
  expect(JSON.parse(setMember('{"c":2}', ["a", "b"], 3) as string)).toEqual({ a: { b: 3 }, c: 2 });
  expect(setMember("", ["a", "b"], 3)).toBe('{\n  "a": {\n    "b": 3\n  }\n}\n');
});

it.each(['{"a":', "[]", '{"a":[]}', "{a:1}", '{"a" 1}', "nothing", '{"a":{"b" "c"}}'])("refuses %s", (text) => {
  expect(setMember(text, ["a", "b"], 1)).toBeUndefined();
});

it("gives what parsing, setting and printing gives, for any JSON", () => {
  const members = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(members, fc.string(), fc.jsonValue(), fc.constantFrom(0, 1, 2, "\t"), (object, key, value, indent) => {
      const text = JSON.stringify(object, null, indent);
      const sorted = (given: object): string =>
        JSON.stringify(Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1)));
      const expected = sorted({ ...JSON.parse(text), [key]: value });
      expect(sorted(JSON.parse(setMember(text, [key], value) as string))).toBe(expected);
    }),
    { numRuns: 300 },
  );
});

it("removes a member with its comma, and nothing around it", () => {
  const ours = ["servers", "midwatch"] as const;
  for (const [before, after] of [
    ['{"servers":{"midwatch":{"a":[1,{}]}}}', '{"servers":{}}'],
    ['{"servers":{"a":1,"midwatch":{}},"z":1}', '{"servers":{"a":1},"z":1}'],
    ['{"servers":{"midwatch":{} , "b":2}}', '{"servers":{"b":2}}'],
    [
      '{\n  // mine\n  "servers": {\n    "a": 1,\n    "midwatch": {}, // last\n  },\n}',
      '{\n  // mine\n  "servers": {\n    "a": 1, // last\n  },\n}',
    ],
    ['{"other":1}', '{"other":1}'],
    ["", ""],
  ] as const)
    expect(removeMember(before, ours)).toBe(after);
  expect(removeMember('{"servers":', ours)).toBeUndefined();
});

it("what is set and removed again leaves the text as it was", () => {
  const text = '{\n  "servers": {\n    "b": 1\n  },\n  "a": 12345678901234567890\n}\n';
  const path = ["servers", "midwatch"] as const;
  expect(removeMember(setMember(text, path, { x: 1 }) ?? "", path)).toBe(text);
});
