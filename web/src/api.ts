/** Asking the server: an operation by its name. Failures are `Problem`s that carry what to do next. */
import { bearer, signedOut } from "./session.ts";

export interface Failure {
  code: string;
  message: string;
  hint?: string;
  retryable?: boolean;
}

export class Problem extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly status: number;

  constructor({ code, message, hint }: Failure, status: number) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.status = status;
  }
}

type Fields = Record<string, string | number | boolean | undefined>;

export interface Items<T> {
  items: T[];
  truncated: boolean;
  warnings?: string[];
}

export async function get<T>(operation: string, fields: Fields = {}, abort?: AbortSignal): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value));
  return await ask<T>(`/api/${operation}?${query}`, abort ? { signal: abort } : {});
}

export async function post<T>(operation: string, body: object = {}): Promise<T> {
  return await ask<T>(`/api/${operation}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function ask<T>(url: string, init: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(url, { ...init, headers: { ...init.headers, ...bearer() }, credentials: "omit" });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Problem(
      { code: "OFFLINE", message: "The server does not answer.", hint: "Is `midwatch up` running?" },
      0,
    );
  }
  const body: unknown = await answer.json().catch(() => undefined);
  if (answer.ok) return body as T;
  if (answer.status === 401) signedOut.value = true;
  const failure = (body as { error?: Failure } | undefined)?.error;
  throw new Problem(failure ?? { code: "HTTP", message: `The server answered with ${answer.status}.` }, answer.status);
}
