/** A git server over HTTP on this machine: git's own http-backend behind a few lines of CGI, with the faults that servers have. */
import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A number is the status of every answer; `hang` takes the question and never answers; a text is the password it wants. */
export type GitServerMood = "ok" | "hang" | number | { password: string };

export class GitServer {
  mood: GitServerMood = "ok";
  /** What was asked, in order. */
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor(folder: string) {
    this.#server = createServer((request, response) => {
      this.asked.push(`${request.method} ${request.url}`);
      const { mood } = this;
      if (mood === "hang") return;
      if (typeof mood === "number") return void response.writeHead(mood).end("no\n");
      const wanted = typeof mood === "object" ? `Basic ${Buffer.from(`me:${mood.password}`).toString("base64")}` : "";
      if (wanted !== "" && request.headers.authorization !== wanted)
        return void response.writeHead(401, { "WWW-Authenticate": 'Basic realm="test"' }).end();
      backend(folder, request, response);
    });
  }

  static async start(folder: string): Promise<GitServer> {
    const made = new GitServer(folder);
    await new Promise<void>((resolve) => void made.#server.listen(0, "127.0.0.1", resolve));
    return made;
  }

  url(name: string, user = ""): string {
    return `http://${user}127.0.0.1:${(this.#server.address() as AddressInfo).port}/${name}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function backend(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? "/", "http://x");
  const child = spawn("git", ["http-backend"], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      HTTP_GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_USER: "me",
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin).on("error", () => undefined);
  const parts: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.once("close", () => {
    const answer = Buffer.concat(parts);
    const at = answer.indexOf("\r\n\r\n");
    const headers = answer
      .subarray(0, at)
      .toString()
      .split("\r\n")
      .map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
    const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
    for (const [name, value] of headers) if (name !== "Status" && name !== "") response.setHeader(name, value);
    response.writeHead(Number.parseInt(status, 10)).end(answer.subarray(at + 4));
  });
}
