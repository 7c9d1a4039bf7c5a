/** TLS in front of `midwatch up`, by the configuration that docs/http.md shows. No vitest in here. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type Lab, supportFile, until } from "../workspace.ts";
import { startUp, type Up } from "./http.ts";

const HAPROXY = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy", "/usr/bin/haproxy"].find((path) => existsSync(path));
const OPENSSL = ["/usr/bin/openssl", "/usr/local/bin/openssl"].find((path) => existsSync(path));

/** Tests are skipped, and say so, where there is no proxy. */
export const noProxy: boolean = HAPROXY === undefined || OPENSSL === undefined;
if (noProxy) console.warn("SKIPPED: no HAProxy or no openssl here. Next: apt-get install haproxy openssl");

export interface Proxied extends Up {
  /** Where the proxy listens: an address of loopback that no other test has, with the port of the page. */
  address: string;
  port: number;
  /** Of the server behind it. */
  inner: string;
  certificate: string;
}

/** `midwatch up --public-url https://box:8443` and the proxy, each in a process of its own. */
export async function startProxied(lab: Lab): Promise<Proxied> {
  const up = await startUp(lab, "--port", "0", "--public-url", "https://box:8443");
  const { url: inner } = JSON.parse(readFileSync(join(lab.root, "http.json"), "utf8")) as { url: string };
  const address = `127.${100 + (process.pid >> 16)}.${(process.pid >> 8) & 255}.${process.pid & 255}`;
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"];
  const made = [
    "-x509",
    ...key,
    "-out",
    "certificate.pem",
    "-days",
    "2",
    "-subj",
    "/CN=box",
    "-addext",
    "subjectAltName=DNS:box",
  ];
  execFileSync(OPENSSL ?? "", ["req", ...made], { cwd: lab.folder, stdio: "ignore" });
  const certificate = readFileSync(join(lab.folder, "certificate.pem"), "utf8");
  writeFileSync(join(lab.folder, "box.pem"), certificate + readFileSync(join(lab.folder, "key.pem"), "utf8"));
  const page = readFileSync(supportFile("../../docs/http.md"), "utf8");
  const shown = /```haproxy\n([\s\S]+?)```/.exec(page)?.[1] ?? "";
  const config = shown.replace("bind :8443", `bind ${address}:8443`).replace("127.0.0.1:4750", new URL(inner).host);
  writeFileSync(join(lab.folder, "haproxy.cfg"), config);
  const proxy = spawn(HAPROXY ?? "", ["-f", "haproxy.cfg"], { cwd: lab.folder, stdio: ["ignore", "ignore", "pipe"] });
  lab.watch(proxy);
  let said = "";
  proxy.stderr?.on("data", (part) => (said += part));
  await until(async () => proxy.exitCode !== null || (await isOpen(address, 8443)), 20_000, "the proxy listens");
  if (proxy.exitCode !== null) throw new Error(`haproxy: ${said}`);
  return { ...up, address, port: 8443, inner, certificate };
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.on("connect", () => resolve(true));
    socket.on("error", () => resolve(false));
    socket.on("close", () => socket.destroy());
    socket.on("connect", () => socket.end());
  });
}
