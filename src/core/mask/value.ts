/** Whether what stands behind a telling name is a secret, or code, a type, a word or a place holder. */

export interface Named {
  /** As it was written, with what it is made of: `AWS_SECRET_ACCESS_KEY`. */
  name: string;
  /** `key`, `token`, `password` and so on: what it ends with; `scheme` behind `Authorization: Bearer`. */
  word: string;
  value: string;
  quoted: boolean;
  /** `NAME=value`, in capitals and without spaces. */
  loud: boolean;
}

/** What a key may be for that has to be kept. */
const KEPT_KEYS = new Set(
  "api access secret private account auth app admin application license licence encryption encrypt signing sign signature shared master subscription service deploy write read ingest insert user client consumer integration storage server webhook hmac aes rest sdk bot live io org project space personal session root publishable team workspace developer".split(
    " ",
  ),
);
/** Services whose keys have no shape of their own. */
const SERVICES =
  /adafruit|airtable|algolia|alibaba|anthropic|asana|azure|beamer|bitbucket|bittrex|bugsnag|cloudflare|codecov|cohere|coinbase|confluent|contentful|datadog|deepgram|deepl|deepseek|discord|drone|dropbox|elastic|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|gemini|gitter|gocardless|heroku|hubspot|intercom|jfrog|kraken|kucoin|launchdarkly|linkedin|looker|mailchimp|mailgun|mapbox|mattermost|meraki|messagebird|mistral|netlify|newrelic|new_relic|ngrok|nytimes|okta|openai|opsgenie|pagerduty|plaid|postmark|privateai|rapidapi|rollbar|sendbird|sentry|serpapi|snyk|sonar|squarespace|stripe|sumo|telegram|travis|twilio|twitch|twitter|upstash|vonage|yandex|zendesk|aws/;
/** A page of a list, a mark of a parser, a column of a table: no secret. */
const PLAIN_PARTS = new Set(
  "page next prev previous continuation sync cursor cancel cancellation end start eos bos pad unk mask stop design lexer syntax max min num per total public primary foreign unique partition sort cache object row translation is has no use show hide forgot reset confirm change missing invalid expired require required csrf".split(
    " ",
  ),
);
const WORDS = new Set(
  "string number boolean integer object array text hidden required optional undefined null none true false password passwd passphrase secret token apikey changeme default disabled enabled unknown invalid missing expired example placeholder redacted masked private public username anonymous localhost postgres development production bearer basic digest function promise buffer unset empty forbidden optionalstring secretstr secretstring password123 password1 passw0rd qwerty".split(
    " ",
  ),
);
const PLACE_HOLDER =
  /^(?:x{3,}|\*{2,}|\.{3}|-{3,}|_{3,}|0{6,}|your|my[-_ ]|some[-_ ]|an?[-_ ]|the[-_ ]|example|sample|dummy|fake|foo|bar|test|mock|stub|placeholder|change|insert|replace|enter|redacted|masked|todo|tbd|env[.:(]|process\.|os\.|config[.[]|self\.|this\.|props\.|req\.|ctx\.|vault:|secretref|arn:|projects\/)/i;
/** A variable, a template, a call, a type, a range of versions, an address, a path, a time, a hash of a package. */
const CODE =
  /^(?:[$<{[(*@#!?~^>|]|0x|HTTP\/|\/(?:home|usr|etc|var|tmp|run|opt|root|mnt|srv|dev|proc|sys|bin|lib|app|data|Users|private)\b|\/[a-z0-9._/-]*$|%[A-Za-z({]|\.{1,2}\/|[a-z][a-z0-9+.-]*:\/\/|[~^]?v?\d+\.\d+|\d{4}-\d\d-\d\d|sha(?:1|256|384|512)-|npm:|workspace:|file:|data:|function\b|async\b|await\b|new\b|new[A-Z]|lambda\b|get[A-Z_]|gen(?:erate)?[A-Z_]|use[A-Z]|read[A-Z_])|\$\{|\{\{|[([]|=>|::|->/;
const TELLS = /pass|token|secret|key|auth|cred|login|value|variable|string/i;
const RANDOM_LEAST = 8;

export function isSecret({ name, word, value, quoted, loud }: Named): boolean {
  if (value.length < 6 || PLAIN_PARTS.has(partBefore(name, word))) return false;
  const bare = value.replace(/[?!.;:|]+$/, "");
  if (WORDS.has(bare.toLowerCase()) || PLACE_HOLDER.test(value) || CODE.test(value)) return false;
  if (bare.toLowerCase() === name.toLowerCase() || /[-_.]?here$/i.test(bare)) return false;
  const digits = /\d/.test(bare);
  // `token: next.value`, `password: "must be set"`, `secret: app-tls-secret`, `"password": "Passwort"`
  if (!digits && (/^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(bare) || /\s/.test(bare))) return false;
  if (!digits && /^[A-Za-z]+(?:[-_. ][A-Za-z]+)+$/.test(bare) && TELLS.test(bare)) return false;
  if (!digits && !loud && /^[A-Z]?[a-z]+$/.test(bare) && (/^[A-Z]/.test(bare) || TELLS.test(bare))) return false;
  if (!digits && /^[A-Z][A-Z_]*$/.test(bare)) return false; // The name of another variable.
  if (!loud && !quoted && (isTypeName(bare) || DOTTED.test(bare))) return false;
  if (/^\d+$/.test(bare)) return word.startsWith("pass") || word === "pwd" ? bare.length >= 6 : bare.length >= 16;
  if (/^\w+\/[\w./-]+\.\w{1,5}$/.test(bare)) return false; // A path.
  switch (word) {
    case "key":
      return isKeptKey(name) ? isWorth(bare, quoted, loud) : loud && isRandom(bare) && bare.length >= 16;
    case "password":
    case "passwd":
    case "passphrase":
    case "pwd":
    case "secret":
    case "token":
      return isWorth(bare, quoted, loud);
    case "scheme":
      return true;
    default:
      return isRandom(bare);
  }
}

/** `step2.value`, `ed25519.PrivateKey` */
const DOTTED = /^[A-Za-z_$][\w$]{0,23}(?:\.[A-Za-z_$][\w$]{0,23})+$/;

/** `Uint8Array`, `_EndOfFile`, `TokenSchema$1`: words that can be spoken, with a capital each. */
function isTypeName(value: string): boolean {
  const words = value.replaceAll(/^_|\$\d+$/g, "");
  if (!/^(?:[A-Z]+[a-z]+\d{0,2})+$/.test(words)) return false;
  return words.match(/[A-Z]+[a-z]+/g)?.every((one) => /[aeiouy]/i.test(one)) === true;
}

/** In quotes or behind `NAME=` a word counts as a value; anywhere else it is a word of a program. */
function isWorth(value: string, quoted: boolean, loud: boolean): boolean {
  return (
    quoted ||
    loud ||
    isRandom(value) ||
    (/\d/.test(value) && !/^[a-z]+\d{0,2}$/i.test(value)) ||
    /^[a-z]+\d{2}$/.test(value)
  );
}

/** Not a word, nor words: letters and digits, or capitals within. */
export function isRandom(value: string): boolean {
  if (value.length < RANDOM_LEAST || CODE.test(value)) return false;
  if (/\d/.test(value)) return /[A-Za-z]/.test(value) && !/^[A-Za-z]+[-_.]?\d{1,4}$/.test(value);
  return (value.match(/[a-z][A-Z]/g)?.length ?? 0) * 5 >= value.length;
}

/** The word before the telling one, in any way of writing names. */
function partBefore(name: string, word: string): string {
  const before = name.slice(0, -word.length).replace(/[_.-]$/, "");
  return (before.split(/[_.-]|(?<=[a-z0-9])(?=[A-Z])/).at(-1) ?? "").toLowerCase();
}

function isKeptKey(name: string): boolean {
  const part = partBefore(name, "key");
  return KEPT_KEYS.has(part) || /(?:api|access|secret|private|auth)$/.test(part) || SERVICES.test(name.toLowerCase());
}
