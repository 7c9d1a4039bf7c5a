/**
 * Hides secrets where text leaves midwatch; files keep exact bytes. Knows the shapes of common keys and the words people put
 * before a password. What has no shape cannot be known: this is a net, not a wall.
 */
const SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-(?:ant-|proj-|live-|test-|or-)?[A-Za-z0-9_-]{16,}/g, // Anthropic, OpenAI, Stripe-like, OpenRouter
  /\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bglpat-[A-Za-z0-9_-]{18,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{30,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g, // JWT
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];
/** `Authorization: Bearer x`, `api_key=x`, `"password": "x"`, `https://user:x@host`: the word stays, the value goes. */
const NAMED: readonly RegExp[] = [
  /(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{8,}=*/gi,
  /((?:api[_-]?key|access[_-]?key|secret[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token|refresh[_-]?token|password|passwd|secret)\\?["']?\s*[:=]\s*\\?["']?)[^\s"',;&\\]{6,}/gi,
  /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@"']{1,64}:)[^\s@/"']{3,}(?=@)/gi,
];
const MASK = "[masked]";

export function maskText(text: string): string {
  let masked = text;
  for (const shape of SHAPES) masked = masked.replace(shape, MASK);
  for (const named of NAMED) masked = masked.replace(named, `$1${MASK}`);
  return masked;
}

/** Every string in a JSON value, keys included. The same value when there is nothing to hide. */
export function maskValue(value: unknown): unknown {
  if (typeof value === "string") return maskText(value);
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [maskText(key), maskNamed(key, inner)]));
}

/** `{"password": "x"}`: the key tells what the value is. */
function maskNamed(key: string, value: unknown): unknown {
  if (typeof value !== "string") return maskValue(value);
  const probe = `${key}=`;
  return maskText(probe + value).startsWith(`${probe}${MASK}`) ? MASK : maskText(value);
}
