import { expect, it } from "vitest";
import { faultOf, saidBy, withoutUser } from "./fault.ts";

const said = (stderr: string, stdout = "", code: number | null = 128) => ({ code, stdout, stderr });
const rejected = (why: string): string => `To x\n!\tabc:refs/heads/j\t${why}\nDone\n`;

// As git 2.39 prints them, and as the large hosts answer.
it.each([
  ["auth", "fatal: could not read Username for 'https://host': terminal prompts disabled"],
  ["auth", "fatal: Authentication failed for 'https://host/x.git/'"],
  ["auth", "fatal: unable to access 'https://host/x.git/': The requested URL returned error: 403"],
  ["auth", "git@host: Permission denied (publickey).\nfatal: Could not read from remote repository."],
  ["auth", "Host key verification failed.\nfatal: Could not read from remote repository."],
  ["auth", "remote: HTTP Basic: Access denied\nfatal: Authentication failed for 'https://gitlab'"],
  [
    "auth",
    "remote: Permission to a/b.git denied to c.\nfatal: unable to access 'x': The requested URL returned error: 403",
  ],
  ["gone", "remote: Repository not found.\nfatal: repository 'https://host/x.git/' not found"],
  ["gone", "ERROR: Repository not found.\nfatal: Could not read from remote repository."],
  [
    "gone",
    "fatal: '/nothing.git' does not appear to be a git repository\nfatal: Could not read from remote repository.",
  ],
  ["gone", "fatal: remote error: access denied or repository not exported: /x.git"],
  ["gone", "fatal: unable to access 'x': The requested URL returned error: 404"],
  ["gone", "fatal: transport 'ext' not allowed"],
  ["transient", "fatal: unable to access 'x': Could not resolve host: host"],
  ["transient", "fatal: unable to access 'x': Failed to connect to host port 443: Connection refused"],
  ["transient", "fatal: unable to access 'x': The requested URL returned error: 503"],
  [
    "transient",
    "fatal: unable to access 'x': Operation too slow. Less than 1 bytes/sec transferred the last 30 seconds",
  ],
  ["transient", "ssh: connect to host h port 22: Connection timed out\nfatal: Could not read from remote repository."],
  ["transient", "error: RPC failed; curl 56\nfatal: early EOF"],
  ["transient", "fatal: the remote end hung up unexpectedly"],
  ["local", "fatal: Unable to create '/w/sync/git/index.lock': File exists."],
  ["local", "error: unable to write loose object file: No space left on device"],
  ["local", "fatal: loose object abc (stored in objects/ab/c) is corrupt"],
] as const)("%s: %s", (fault, stderr) => expect(faultOf(said(stderr))).toBe(fault));

it.each([
  ["race", "[rejected] (fetch first)"],
  ["race", "[rejected] (non-fast-forward)"],
  ["race", "[remote rejected] (cannot lock ref 'refs/heads/j': is at 1 but expected 2)"],
  ["race", "[remote rejected] (failed to update ref)"],
  ["policy", "[remote rejected] (pre-receive hook declined)"],
  ["policy", "[remote rejected] (protected branch hook declined)"],
  ["transient", "[remote rejected] (unpacker error)"],
] as const)("%s: a push that is %s", (fault, why) =>
  expect(faultOf(said("error: failed to push some refs to 'x'", rejected(why), 1))).toBe(fault),
);

it("a call that was ended for taking too long is transient, whatever it said before", () => {
  expect(faultOf(said("fatal: Authentication failed", "", null))).toBe("transient");
});

it("nothing secret is in what is told", () => {
  const token = "s3cr3t-value-of-mine";
  const text = saidBy(said(`hint: x\nfatal: unable to access 'https://${token}@host/x.git/': error: 401\n`));
  expect(text).toBe("fatal: unable to access 'https://host/x.git/': error: 401");
  expect(withoutUser(`ssh://me:${token}@host/x`)).toBe("ssh://host/x");
  expect(withoutUser("git@host:team/x.git")).toBe("git@host:team/x.git");
});
