/** What the HTTP door needs of a workspace: its token, where a server listens, whose capability a bearer is. */
import type { AgentId } from "../core/ids.ts";
import { audit } from "../workspace/audit.ts";
import { agentByCapability } from "../workspace/caller.ts";
import {
  announcedServer,
  announceServer,
  httpToken,
  type ServerFact,
  withdrawServer,
} from "../workspace/http-files.ts";
import { loginLink, provenServer, serverProof } from "../workspace/server-proof.ts";
import { HoldsContext } from "./holds-context.ts";

export class Http extends HoldsContext {
  /** Opens the HTTP door; made once. */
  token(): string {
    return httpToken(this.acting);
  }

  /** Tells others where a server of this workspace listens; the answer takes that back. From now on no write waits for long. */
  announce(url: string, lockMs: number): () => void {
    this.acting.registries.hurry(lockMs);
    this.acting.ledger.hurry(lockMs);
    announceServer(this.context, url);
    return () => withdrawServer(this.context, url);
  }

  /** Where the server that began last says that it listens, if it lives and is on this machine. Before you send it a secret: `proven`. */
  server(): ServerFact | undefined {
    return announcedServer(this.context);
  }

  /** The same, once it has proven that it is this workspace's: it knows the token. */
  proven(): Promise<ServerFact | undefined> {
    return provenServer(this.context);
  }

  /** What a server with this token, at this address, answers to who asks it to prove itself. */
  proof(token: string, url: string, nonce: string): string {
    return serverProof(token, url, nonce);
  }

  /** A new link to the page of the server that runs; good once. */
  link(): Promise<string> {
    return loginLink(this.acting);
  }

  /** The agent whose capability this is. */
  agentOf(id: string, capability: string): AgentId | undefined {
    return agentByCapability(this.context, id, capability);
  }

  /** Tells the journal who changed what through a door. */
  audit(
    event: { content: string; agent?: AgentId; data: Record<string, unknown> },
    type: "http.change" | "fleet.change" = "http.change",
  ): void {
    audit(this.acting, [{ type, ...event }]);
  }
}
