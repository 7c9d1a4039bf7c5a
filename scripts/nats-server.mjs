// `node scripts/nats-server.mjs`: gets the NATS servers that tests run, each once, into the user's cache: a current one (unless the
// machine has it), and the old one of Debian 12, which midwatch has to refuse. They come from the package mirror that this machine is
// set up with and from nowhere else; apt checks the signatures. apt works in a folder of its own, so the machine's lists and packages
// stay as they are. What cannot be had is skipped with its tests, so this never fails a run; it says so.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findNats, natsFolder, OLD_NATS } from "../test/support/nats/nats-program.ts";
import { say } from "./ready.mjs";

const TIMEOUT_MS = 120_000;
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** Testing and unstable say how long their lists are valid, a week or so. A mirror may lag behind; two months are new enough for us. */
const LISTS_VALID_S = 60 * 86_400;
/** The first suite that has it; stable releases before forky are too old. */
const WANTED = [
  { what: "current", suites: ["forky", "sid"], has: () => findNats("current") !== undefined },
  { what: "old", suites: ["bookworm"], has: () => findNats("old") !== undefined },
];

for (const { what, suites, has } of WANTED) {
  if (has()) continue;
  const begun = Date.now();
  const problems = [];
  for (const suite of suites) {
    const problem = install(suite);
    if (problem) problems.push(`${suite}: ${problem}`);
    if (has()) break;
  }
  if (has()) say(`installed nats-server (${what}) in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  else {
    const which = what === "old" ? OLD_NATS : "nats-server 2.12 or newer";
    say(`SKIPPED: ${which} cannot be had, its tests will not run: ${problems.join("; ") || "unknown"}`);
  }
}

/** Beside its place first, then by rename: what is there is whole, also with two at once. Returns what went wrong. */
function install(suite) {
  if (!existsSync(KEYRING)) return `there is no ${KEYRING}, so nothing could be checked`;
  const mirror = ownMirror();
  if (mirror === undefined) return "this machine has no Debian mirror in its apt sources";
  const home = mkdtempSync(join(tmpdir(), "midwatch-apt-"));
  try {
    for (const folder of ["lists/partial", "cache/archives/partial", "conf.d", "unpacked"])
      mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, "status"), "");
    writeFileSync(join(home, "sources.list"), `deb [signed-by=${KEYRING}] ${mirror} ${suite} main\n`);
    writeFileSync(join(home, "apt.conf"), settings(home));
    const env = { ...process.env, APT_CONFIG: join(home, "apt.conf"), LC_ALL: "C" };
    for (const args of [
      ["apt-get", "update"],
      ["apt-get", "download", "nats-server"],
    ]) {
      const problem = run(args, { cwd: home, env });
      if (problem) return problem;
    }
    const package_ = readdirSync(home).find((name) => name.endsWith(".deb"));
    if (package_ === undefined) return "apt gave no package";
    const problem = run(["dpkg", "-x", package_, "unpacked"], { cwd: home, env });
    if (problem) return problem;
    const place = natsFolder(package_.split("_")[1]);
    mkdirSync(join(place, ".."), { recursive: true });
    // The cache may be on another disk than the temporary folder: copied beside its place, then renamed.
    const beside = `${place}.${process.pid}`;
    const copied = run(["cp", "-r", join(home, "unpacked", "usr", "sbin"), beside], { cwd: home, env });
    if (copied) return copied;
    if (!existsSync(place)) renameSync(beside, place);
    rmSync(beside, { recursive: true, force: true });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The one that the machine's own sources name for Debian itself. */
function ownMirror() {
  const format = ["--format", "$(REPO_URI)", "Created-By: Packages"];
  const { stdout } = spawnSync("apt-get", ["indextargets", ...format], { encoding: "utf8", timeout: TIMEOUT_MS });
  return (stdout ?? "").split("\n").find((uri) => /^https?:\/\/[^/]+\/(.*\/)?debian\/?$/.test(uri));
}

/** Nothing of the machine's own is written, and none of its hooks runs; only how it reaches the network is taken over. */
function settings(home) {
  const { stdout } = spawnSync("apt-config", ["dump", "--format", "%F %v%n", "Acquire::http", "Acquire::https"], {
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  const proxies = (stdout ?? "").split("\n").flatMap((line) => {
    const [, name, value] = /^(Acquire::https?::Proxy) "?([^"]+)"?$/.exec(line) ?? [];
    return name === undefined ? [] : [`${name} "${value}";`];
  });
  return [
    `Dir::State "${home}";`,
    `Dir::State::Lists "${home}/lists";`,
    `Dir::State::status "${home}/status";`,
    `Dir::Cache "${home}/cache";`,
    `Dir::Etc::SourceList "${home}/sources.list";`,
    'Dir::Etc::SourceParts "/dev/null";',
    `Dir::Etc::Parts "${home}/conf.d";`,
    'Dir::Etc::Main "/dev/null";',
    `Acquire::Min-ValidTime "${LISTS_VALID_S}";`,
    'Acquire::Languages "none";',
    'Acquire::Retries "1";',
    'Acquire::http::Timeout "20";',
    // The folder is ours alone, so apt's own user could not write there.
    ...(process.getuid?.() === 0 ? ['APT::Sandbox::User "root";'] : []),
    ...proxies,
    "",
  ].join("\n");
}

/** Undefined when it went well. */
function run([command, ...args], options) {
  const { status, stderr, error, signal } = spawnSync(command, args, {
    ...options,
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  if (error) return `${command}: ${error.message}`;
  if (status === 0) return undefined;
  const told = stderr.split("\n").find((line) => /^E: /.test(line)) ?? stderr.trim().split("\n").at(-1);
  return told || `${command} ended with ${status ?? signal}`;
}
