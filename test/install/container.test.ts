/**
 * The container image, built from a Debian that debootstrap makes here and started for real: as an ordinary user, in namespaces of its own, without a
 * cgroup that it may write to and without a network. Takes minutes and root, so only `npm run test:install` does it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { findTool } from "../support/tools.ts";
import { pack } from "./machine.ts";

const has = (program: string): boolean => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
const missing = [
  ...["debootstrap", "buildah", "unshare", "setpriv"].filter((program) => !has(program)),
  ...(process.getuid?.() === 0 ? [] : ["the rights of root"]),
  ...(process.env["INSTALL_NODES"] === undefined ? ["npm run test:install"] : []),
];
if (missing.length > 0) console.warn(`SKIPPED: the container image was not built: needs ${missing.join(", ")}.`);
const node = findTool("node-24");
const able = missing.length === 0 && node !== undefined && findTool("zig") !== undefined;

const run = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): string =>
  execFileSync(program, args, {
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: patient(600_000),
  });

/** A small Debian with Node and npm in it: the base image that nobody has to fetch from a hub. */
function makeBase(root: string): void {
  const sources = run("apt-get", ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]);
  const mirror = sources.split("\n").find((uri) => /\/debian\/?$/.test(uri)) ?? "";
  run("debootstrap", ["--variant=minbase", "bookworm", root, mirror]);
  const npm = dirname(dirname(realpathSync(run("sh", ["-c", "command -v npm"]).trim())));
  mkdirSync(join(root, "usr/local/lib/node_modules"), { recursive: true });
  cpSync(node as string, join(root, "usr/local/bin/node"));
  cpSync(npm, join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm"));
}

const RUNS = 100;
/** What happens in the container. Its last agent is left to the end of the container. */
const INSIDE = `set -u
cd /work; PATH=/usr/local/bin:/usr/bin:/bin; export PATH
echo "user $(id -u)"
echo "first $(tr '\\0' ' ' </proc/1/cmdline)"
midwatch doctor --self-check || exit 1
midwatch run --name tree -- sh -c 'setsid sleep 600 & env -i setsid sleep 600 & echo up; wait' >/dev/null 2>&1
until [ "$(midwatch logs tree 2>/dev/null)" = up ]; do sleep 0.05; done
midwatch stop --grace 200ms tree
i=0; while [ $i -lt ${RUNS} ]; do i=$((i+1)); midwatch run --wait --name r$i -- sh -c '(sleep 0.1 &); echo done' >/dev/null 2>&1; done
sleep 1
echo "completed $(midwatch ls --all --json | grep -c '"outcome":"completed"')"
zombies=0; for s in /proc/[0-9]*/stat; do case "$(cat $s 2>/dev/null)" in *") Z "*) zombies=$((zombies+1));; esac; done
echo "zombies $zombies"
midwatch run --name last -- sh -c 'trap "" TERM; while :; do sleep 0.1; done' >/dev/null 2>&1
exit 7
`;

it.skipIf(!able)(
  "as an ordinary user: runs, stops with proof, 100 runs leave no zombie, its end leaves no agent without its proof",
  () => {
    const home = folder();
    const [root, context, storage] = ["base", "context", "storage"].map((name) => join(home, name)) as [
      string,
      string,
      string,
    ];
    makeBase(root);
    pack(join(context, "packed"), [`${process.platform}-${process.arch}`]);
    writeFileSync(
      join(home, "storage.conf"),
      `[storage]\ndriver = "vfs"\ngraphroot = "${storage}"\nrunroot = "${storage}-run"\n`,
    );
    const env = { ...process.env, CONTAINERS_STORAGE_CONF: join(home, "storage.conf") };
    const buildah = (...args: string[]): string => run("buildah", args, env).trim();
    const base = buildah("from", "scratch");
    onTestFinished(() => void buildah("umount", "--all"));
    buildah("add", "-q", base, root, "/");
    buildah("config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", base);
    buildah("commit", "-q", "--format", "docker", base, "midwatch-base");
    const file = join(import.meta.dirname, "../../container/Dockerfile");
    const bud = [
      "bud",
      "--isolation",
      "chroot",
      "--format",
      "docker",
      "--pull-never",
      "-q",
      "-t",
      "midwatch",
      "-f",
      file,
    ];
    // Without a network: what is in the image came from the files.
    run("unshare", ["-n", "buildah", ...bud, "--build-arg", "BASE=localhost/midwatch-base", context], env);

    const container = buildah("from", "localhost/midwatch");
    const { OCIv1 } = JSON.parse(buildah("inspect", container)) as { OCIv1: { config: Record<string, unknown> } };
    expect(OCIv1.config).toMatchObject({
      User: "10001:10001",
      Entrypoint: ["midwatch-keeper", "init", "midwatch"],
      Cmd: ["up"],
    });
    const mounted = buildah("mount", container);
    writeFileSync(join(mounted, "inside.sh"), INSIDE);
    const start = `mount -t proc proc "$0/proc" && exec setpriv --no-new-privs chroot --userspec=10001:10001 "$0" /usr/bin/env -i HOME=/home/midwatch PATH=/usr/local/bin:/usr/bin:/bin midwatch-keeper init sh /inside.sh`;
    const namespaces = ["--pid", "--fork", "--mount", "--ipc", "--uts", "--net"];
    const { status, stdout, stderr } = spawnSync("unshare", [...namespaces, "sh", "-c", start, mounted], {
      encoding: "utf8",
      timeout: patient(600_000),
    });
    console.log(stdout);
    expect(status, stderr).toBe(7);
    expect(stdout).toContain("user 10001\nfirst midwatch-keeper init sh /inside.sh");
    expect(stdout).toMatch(/subreaper: no cgroup/);
    expect(stdout).toMatch(/processes {2}3 ended \(.*\), 0 left\n {2}proof {6}subreaper/);
    expect(stdout).toContain(`completed ${RUNS}\nzombies 0\n`);
    const done = run("sh", ["-c", 'cat "$0"/work/.agent-workspace/TASK-*/runs/last-*/1/done.json', mounted]);
    expect(JSON.parse(done)).toMatchObject({ verified: true });
  },
);
