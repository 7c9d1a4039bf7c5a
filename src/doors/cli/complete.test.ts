import { describe, expect, it } from "vitest";
import { operations } from "../../operations/index.ts";
import { complete } from "./complete.ts";

const ask = (...typed: string[]) => {
  const [also, ...lines] = complete(typed, operations, { env: {}, cwd: "/" }).trimEnd().split("\n");
  return { also, words: lines.map((line) => line.split("\t")[0]) };
};

describe("completion", () => {
  it("knows every command, and the second word of those that have one", () => {
    const firsts = new Set(operations.map(({ name }) => name.split(" ")[0]));
    expect(new Set(ask("").words)).toEqual(new Set([...firsts, "help"]));
    expect(ask("he").words).toEqual(["health", "help"]);
    expect(ask("jsonl", "").words).toEqual(["tail", "page", "count", "verify", "append"]);
    expect(ask("mcp", "").words).toEqual(["install"]);
    expect(ask("help", "lo").words).toEqual(["logs"]);
    expect(ask("no-such", "").words).toEqual([]);
  });

  it("knows the flags of a command, and offers them only when a dash was typed", () => {
    expect(ask("stop", "--g").words).toEqual(["--grace"]);
    expect(ask("logs", "--no").words).toEqual(["--no-mask"]);
    expect(ask("logs", "-").words).toContain("-f");
    expect(ask("stop", "").words).toEqual([]);
    expect(ask("--js").words).toEqual(["--json"]);
  });

  it("knows choices, however the flag is written, and where the shell has to look itself", () => {
    expect(ask("run", "--permission", "").words).toEqual(["ask", "edit", "all", "plan"]);
    expect(ask("run", "--permission", "=", "p").words).toEqual(["plan"]);
    expect(ask("run", "--permission", "=").words).toEqual(["ask", "edit", "all", "plan"]);
    expect(ask("run", "--permission=p").words).toEqual(["--permission=plan"]);
    expect(ask("run", "--driver", "co").words).toEqual(["codex", "command"]);
    expect(ask("jsonl", "tail", "").also).toBe("files");
    expect(ask("run", "--cwd", "").also).toBe("folders");
    expect(ask("run", "--name", "x", "--", "ma")).toEqual({ also: "files", words: [] });
    expect(ask("run", "--grace", "")).toEqual({ also: "nothing", words: [] });
  });

  it("says nothing about agents where there is no workspace", () => {
    expect(ask("logs", "")).toEqual({ also: "nothing", words: [] });
    expect(ask("--workspace", "/nowhere", "logs", "")).toEqual({ also: "nothing", words: [] });
  });
});
