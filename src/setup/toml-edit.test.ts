import { expect, it } from "vitest";
import { removeTable, setTable } from "./toml-edit.ts";

const VALUES = { command: "midwatch", args: ["mcp", 'a "b"'], enabled: true };
const TABLE = '[mcp_servers.midwatch]\ncommand = "midwatch"\nargs = ["mcp","a \\"b\\""]\nenabled = true\n';

it("begins a file, and adds a table at the end of one", () => {
  expect(setTable("", "mcp_servers.midwatch", VALUES)).toBe(TABLE);
  expect(setTable('model = "x" # mine\n[a]\nb = 1', "mcp_servers.midwatch", VALUES)).toBe(
    `model = "x" # mine\n[a]\nb = 1\n\n${TABLE}`,
  );
});

it("replaces the table with its sub-tables, and nothing around it", () => {
  const before = '# head\n[mcp_servers.other]\ncommand = "o"\n\n';
  const after = "\n# of the next\n[features]\nplugins = false\n";
  const old = '[mcp_servers.midwatch]\ncommand = "old"\n[mcp_servers.midwatch.env]\nA = "1"\n';
  expect(setTable(before + old + after, "mcp_servers.midwatch", VALUES)).toBe(before + TABLE + after);
});

it("does not touch a file that defines the tables in another way", () => {
  expect(setTable("mcp_servers = { a = { command = 'x' } }\n", "mcp_servers.midwatch", VALUES)).toBeUndefined();
  expect(setTable("mcp_servers.midwatch.command = 'x'\n", "mcp_servers.midwatch", VALUES)).toBeUndefined();
  expect(setTable('a = """\nmcp_servers = 1\n"""\n', "mcp_servers.midwatch", VALUES)).toContain(
    "[mcp_servers.midwatch]",
  );
});

it("removes the table with its sub-tables: what is set and removed again leaves the text as it was", () => {
  for (const text of ["", 'model = "x"\n', "[a]\nb = 1\n\n# of the next\n[c]\nd = 2\n"])
    expect(removeTable(setTable(text, "mcp_servers.midwatch", VALUES) ?? "", "mcp_servers.midwatch")).toBe(text);
  const between = `[a]\n\n${TABLE}[mcp_servers.midwatch.env]\nA = "1"\n\n# of the next\n[c]\n`;
  expect(removeTable(between, "mcp_servers.midwatch")).toBe("[a]\n\n\n# of the next\n[c]\n");
});
