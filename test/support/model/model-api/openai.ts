/** An error as both of OpenAI's APIs tell it. */
export function openAiFailure(status: number, message: string, code: string | null = CODES[status] ?? null): unknown {
  return { error: { message, type: code ?? "server_error", code, param: null } };
}

const CODES: Readonly<Record<number, string>> = { 401: "invalid_api_key", 429: "rate_limit_exceeded" };
