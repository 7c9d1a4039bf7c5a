import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { findOrMakeWorkspace, findWorkspace, makeWorkspace } from "./workspace.ts";

const env = {};

describe("findWorkspace", () => {
  it("takes the explicit one, then MIDWATCH_WORKSPACE, then the nearest upward", () => {
    const dir = folder();
    const [a, b, c] = ["a", "b", "c/.agent-workspace"].map((name) => makeWorkspace(join(dir, name)));
    mkdirSync(join(dir, "c/deep/er"), { recursive: true });
    const cwd = join(dir, "c/deep/er");
    expect(findWorkspace({ explicit: a, env: { MIDWATCH_WORKSPACE: b }, cwd })).toBe(a);
    expect(findWorkspace({ explicit: "../../../a", env, cwd })).toBe(a);
    expect(findWorkspace({ env: { MIDWATCH_WORKSPACE: b }, cwd })).toBe(b);
    expect(findWorkspace({ env: { MIDWATCH_WORKSPACE: "" }, cwd })).toBe(c);
    expect(findWorkspace({ explicit: join(dir, "c"), env, cwd: dir })).toBe(c);
  });

  it("says where it looked when there is none", () => {
    const cwd = folder();
    expect(() => findWorkspace({ env, cwd })).toThrow(`There is no workspace in ${cwd} or any folder above it.`);
    expect(() => findWorkspace({ explicit: "x", env, cwd })).toThrow(`There is no workspace at ${join(cwd, "x")}.`);
  });

  it("R-004.13: refuses a workspace that is a link, but not a link above it", () => {
    const dir = folder();
    makeWorkspace(join(dir, "project/.agent-workspace"));
    symlinkSync("project", join(dir, "alias"));
    expect(findWorkspace({ env, cwd: join(dir, "alias") })).toBe(join(dir, "project/.agent-workspace"));
    mkdirSync(join(dir, "other"));
    symlinkSync("../project/.agent-workspace", join(dir, "other/.agent-workspace"));
    expect(() => findWorkspace({ env, cwd: join(dir, "other") })).toThrow(/symbolic link/);
    expect(() => findOrMakeWorkspace({ env, cwd: join(dir, "other") })).toThrow(/symbolic link/);
  });
});

describe("makeWorkspace", () => {
  it("R-000.24, R-004.14: makes a private folder that git ignores", () => {
    const cwd = folder();
    const root = findOrMakeWorkspace({ env, cwd });
    expect(root).toBe(join(cwd, ".agent-workspace"));
    expect(readFileSync(join(root, ".gitignore"), "utf8")).toBe("*\n");
    for (const name of ["", "active"]) expect(statSync(join(root, name)).mode & 0o777).toBe(0o700);
  });

  it("keeps what is there", () => {
    const cwd = folder();
    const root = findOrMakeWorkspace({ env, cwd });
    writeFileSync(join(root, ".gitignore"), "mine\n");
    expect(findOrMakeWorkspace({ env, cwd })).toBe(root);
    expect(readFileSync(join(root, ".gitignore"), "utf8")).toBe("mine\n");
  });

  it("does not turn somebody's project into a workspace", () => {
    const dir = folder();
    writeFileSync(join(dir, "package.json"), "{}");
    expect(() => makeWorkspace(dir)).toThrow(/has other files in it/);
    expect(existsSync(join(dir, ".gitignore"))).toBe(false);
  });

  it("refuses a file in its place", () => {
    const dir = folder();
    writeFileSync(join(dir, ".agent-workspace"), "");
    expect(() => findOrMakeWorkspace({ env, cwd: dir })).toThrow(/not a folder/);
  });
});
